// SPDX-License-Identifier: Apache-2.0
// How a verdict becomes a reward.
#pragma once

#include <cstdint>

namespace warpsmith {

enum class RewardRule : uint8_t {
  milestone,    // −1 not correct, 1 correct, 2 > 5 % faster than eager, 3 also than torch.compile
  speedup,      // −1 not correct, else the lower bound of eager / candidate
  log_speedup,  // −1 not correct, else its natural logarithm; below a speed-up of 1 linear, > −1
};

}  // namespace warpsmith
