// SPDX-License-Identifier: Apache-2.0
// From a trajectory's last verdict to its outcome. Pure.
#pragma once

#include "runtime/reward_rule.hpp"
#include "runtime/submission.hpp"
#include "runtime/trajectory.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::actors {

/// Outcome of a judged submission: reward by `rule`, speed-ups of the worst shape.
Outcome judged_outcome(const Verdict& verdict, const FileSet& files, RewardRule rule);

/// Outcome of a trajectory that handed in nothing: −1, less `penalty` if a limit ended it.
Outcome empty_outcome(bool truncated, double penalty);

}  // namespace warpsmith::actors
