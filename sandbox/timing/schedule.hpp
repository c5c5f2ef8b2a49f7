// SPDX-License-Identifier: Apache-2.0
// The order of timed calls: interleaved blocks in an order that a candidate cannot predict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/random_stream.hpp"

namespace warpsmith::sandbox {

/// Every schedule contains the first three.
enum class Implementation : uint8_t { candidate, eager, compiled, tuned, graphed };

/// One block times each implementation once, all on equal contents.
using Block = std::vector<Implementation>;

/// The number of orders in a whole cycle: 6 for three implementations, 4 for four, 10 for five.
int cycle_of(size_t implementations);

/// The number of blocks for which eager's share takes about `budget_ms`. It depends on the
/// baseline's time and never on the candidate's. At least `least`, at most about `most`; a multiple
/// of `cycle`.
int block_count(double baseline_ms, double budget_ms, int least, int most, int cycle);

/// Cycles of a Williams design (E. J. Williams, "Experimental designs balanced for the estimation
/// of residual effects of treatments", 1949). Each cycle permutes the implementations' labels and
/// is a random sequence of ABBA pairs: each order is followed by its mirror image, so that a drift
/// of the machine's speed affects all implementations equally. Each implementation occurs equally
/// often in each place and directly after each other implementation, because the previous
/// implementation leaves its state in the caches (5 % for eager). For three implementations a cycle
/// is all six orders.
std::vector<Block> make_schedule(std::vector<Implementation> implementations, int blocks,
                                 RandomStream& random);

}  // namespace warpsmith::sandbox
