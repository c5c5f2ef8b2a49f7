// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/schedule.hpp"

#include <algorithm>
#include <cmath>

namespace warpsmith::sandbox {

int block_count(double baseline_ms, double budget_ms, int least) {
  const double wanted = budget_ms / std::max(baseline_ms, 1e-3);
  const double bounded = std::clamp(wanted, double(least), 4.0 * least);
  return 2 * static_cast<int>(std::ceil(bounded / 2));
}

std::vector<Block> make_schedule(int blocks, RandomStream& random) {
  std::vector<Block> schedule;
  while (static_cast<int>(schedule.size()) < blocks) {
    Block block{Party::candidate, Party::eager, Party::compiled};
    std::swap(block[0], block[random.below(3)]);
    std::swap(block[1], block[1 + random.below(2)]);
    schedule.push_back(block);
    std::reverse(block.begin(), block.end());
    schedule.push_back(block);
  }
  schedule.resize(static_cast<size_t>(std::max(blocks, 0)));
  return schedule;
}

}  // namespace warpsmith::sandbox
