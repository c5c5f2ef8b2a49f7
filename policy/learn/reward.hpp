// SPDX-License-Identifier: Apache-2.0
// The reward that a verdict earns. Infrastructure failures cannot be passed here: the type forbids
// it.
#pragma once

#include "runtime/reward_rule.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::policy {

/// Any correct candidate earns more than any other, whatever its speed.
/// Milestones are judged on the lower end of the interval, and on the worst shape.
/// (CUDA Agent, arXiv 2602.24286, section 3.3; t0 the baseline: (t0 − t) / t0 > 0.05.)
double reward_of(const Verdict& verdict, RewardRule rule);

}  // namespace warpsmith::policy
