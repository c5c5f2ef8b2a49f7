// SPDX-License-Identifier: Apache-2.0
// Pure: which kept prefixes leave when there is no room for all.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/trajectory.hpp"

namespace warpsmith::policy {

/// The kept prefix of a running trajectory.
struct PrefixSize {
  TrajectoryId id = 0;
  int64_t tokens = 0;
  int64_t bytes = 0;  // in the memory that is bounded
};

/// The prefixes to give up so that the others take at most `bound` bytes, cheapest first. To redo a
/// prefix costs a forward pass over it, a + b T per token, so the shortest is the cheapest; none is
/// given up whose memory is not needed. One that must be at hand is given up only if it alone is
/// beyond the bound.
std::vector<TrajectoryId> prefixes_to_give_up(std::vector<PrefixSize> kept, int64_t bound,
                                              std::optional<TrajectoryId> at_hand = std::nullopt);

}  // namespace warpsmith::policy
