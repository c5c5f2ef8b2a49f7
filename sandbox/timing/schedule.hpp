// SPDX-License-Identifier: Apache-2.0
// Who is timed when: interleaved blocks in an order that cannot be predicted.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/random_stream.hpp"

namespace warpsmith::sandbox {

enum class Party : uint8_t { candidate, eager, compiled };
inline constexpr size_t party_count = 3;

/// One block times each party once, all on equal contents.
using Block = std::array<Party, party_count>;

/// The orders that a block can have.
inline constexpr int orders = 6;

/// How many blocks: fixed by the baseline's time (never by the candidate's), so that eager's share
/// takes about `budget_ms`. At least `least`, about 4 × least at most; a multiple of `orders`.
int block_count(double baseline_ms, double budget_ms, int least);

/// Cycles of all six orders, in a random sequence of ABBA pairs: each order is followed by its
/// mirror image, so that a drift of the machine's speed weighs equally on all parties, and each
/// party comes equally often in each place and after each other party (who ran before leaves
/// the caches to the next: 5 % for eager).
std::vector<Block> make_schedule(int blocks, RandomStream& random);

}  // namespace warpsmith::sandbox
