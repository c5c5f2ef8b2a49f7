// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/prefix_bound.hpp"

#include <algorithm>
#include <numeric>
#include <ranges>

namespace warpsmith::policy {

std::vector<TrajectoryId> prefixes_to_give_up(std::vector<PrefixSize> kept, int64_t bound,
                                              std::optional<TrajectoryId> at_hand) {
  int64_t excess = -bound;
  for (const PrefixSize& one : kept) excess += one.bytes;
  const auto keeps_its_place = [&](const PrefixSize& one) {
    return one.bytes == 0 || (one.id == at_hand && one.bytes <= bound);
  };
  std::erase_if(kept, keeps_its_place);
  const auto order = [&](const PrefixSize& one) {
    return std::pair{one.id != at_hand, one.tokens};
  };
  std::ranges::sort(kept, {}, order);  // one that cannot stay goes first
  std::vector<PrefixSize> leaving;
  for (const PrefixSize& one : kept) {
    if (excess <= 0) break;
    excess -= one.bytes;
    leaving.push_back(one);
  }
  for (auto it = leaving.rbegin(); it != leaving.rend(); ++it) {  // the most expensive first
    if (excess + it->bytes > 0) continue;
    excess += it->bytes;
    it->bytes = 0;
  }
  std::erase_if(leaving, [](const PrefixSize& one) { return one.bytes == 0; });
  std::vector<TrajectoryId> ids(leaving.size());
  std::ranges::transform(leaving, ids.begin(), &PrefixSize::id);
  return ids;
}

}  // namespace warpsmith::policy
