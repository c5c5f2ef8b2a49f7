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

/// How many blocks: fixed by the baseline's time (never by the candidate's), so that eager's share
/// takes about `budget_ms`. At least `least`, at most 4 × least; even, for whole ABBA pairs.
int block_count(double baseline_ms, double budget_ms, int least);

/// ABBA pairs: each random order is followed by its mirror image, so that a drift of the machine's
/// speed weighs equally on all parties.
std::vector<Block> make_schedule(int blocks, RandomStream& random);

}  // namespace warpsmith::sandbox
