// SPDX-License-Identifier: Apache-2.0
// Who is timed when: interleaved blocks in an order that cannot be predicted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/random_stream.hpp"

namespace warpsmith::sandbox {

/// The first three are in every schedule.
enum class Party : uint8_t { candidate, eager, compiled, tuned, graphed };

/// One block times each party once, all on equal contents.
using Block = std::vector<Party>;

/// How many orders a whole cycle of so many parties has: 6 of three, 4 of four, 10 of five.
int cycle_of(size_t parties);

/// How many blocks: fixed by the baseline's time (never by the candidate's), so that eager's share
/// takes about `budget_ms`. At least `least`, about `most` at most; a multiple of `cycle`.
int block_count(double baseline_ms, double budget_ms, int least, int most, int cycle);

/// Cycles of a Williams design (E. J. Williams, "Experimental designs balanced for the estimation
/// of residual effects of treatments", 1949), each with its parties under other labels, in a random
/// sequence of ABBA pairs: each order is followed by its mirror image, so that a drift of the
/// machine's speed weighs equally on all parties, and each party comes equally often in each place
/// and right after each other party (who ran before leaves the caches to the next: 5 % for eager).
/// Of three parties a cycle is all six orders.
std::vector<Block> make_schedule(std::vector<Party> parties, int blocks, RandomStream& random);

}  // namespace warpsmith::sandbox
