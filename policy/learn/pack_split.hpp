// SPDX-License-Identifier: Apache-2.0
// Splits trajectories over ranks by tokens. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace warpsmith::policy {

/// The packs of one pass, one for each rank.
class PackSplit {
 public:
  PackSplit(size_t ranks, int64_t pack_tokens) : tokens_(ranks, 0), pack_tokens_(pack_tokens) {}

  /// The rank whose pack takes the next trajectory, of that many tokens: the one with the fewest so
  /// far. Empty if it does not fit there; a pack without a trajectory takes any.
  std::optional<size_t> rank_for(int64_t tokens) const {
    const auto least = std::min_element(tokens_.begin(), tokens_.end());
    if (*least > 0 && *least + tokens > pack_tokens_) return std::nullopt;
    return static_cast<size_t>(least - tokens_.begin());
  }
  void add(size_t rank, int64_t tokens) { tokens_[rank] += tokens; }

 private:
  std::vector<int64_t> tokens_;
  int64_t pack_tokens_;
};

}  // namespace warpsmith::policy
