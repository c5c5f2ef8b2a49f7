// SPDX-License-Identifier: Apache-2.0
// The reward for a verdict. An infrastructure failure is not a Verdict, so it cannot get a reward.
// Pure.
#pragma once

#include "runtime/config/rollout_config.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::policy {

/// The reward of a verdict. A correct candidate gets more than an incorrect one, at any speed.
/// Milestones: (t0 − t) / t0 > 0.05 for the baseline's time t0 (CUDA Agent, arXiv 2602.24286,
/// section 3.3), on the lower end of the speed-up's interval for the slowest shape.
double reward_of(const Verdict& verdict, RewardRule rule);

}  // namespace warpsmith::policy
