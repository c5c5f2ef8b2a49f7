// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/schedule.hpp"

#include <algorithm>
#include <cmath>

namespace warpsmith::sandbox {

int block_count(double baseline_ms, double budget_ms, int least) {
  const double wanted = budget_ms / std::max(baseline_ms, 1e-3);
  const double bounded = std::clamp(wanted, double(least), 4.0 * least);
  return orders * static_cast<int>(std::ceil(bounded / orders));
}

std::vector<Block> make_schedule(int blocks, RandomStream& random) {
  std::array<Block, orders / 2> firsts{{{Party::candidate, Party::eager, Party::compiled},
                                        {Party::eager, Party::compiled, Party::candidate},
                                        {Party::compiled, Party::candidate, Party::eager}}};
  std::vector<Block> schedule;
  while (static_cast<int>(schedule.size()) < blocks) {
    std::shuffle(firsts.begin(), firsts.end(), random);
    for (Block block : firsts) {
      if (random.below(2) == 1) std::reverse(block.begin(), block.end());
      schedule.push_back(block);
      std::reverse(block.begin(), block.end());
      schedule.push_back(block);
    }
  }
  schedule.resize(static_cast<size_t>(std::max(blocks, 0)));
  return schedule;
}

}  // namespace warpsmith::sandbox
