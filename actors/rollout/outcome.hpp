// SPDX-License-Identifier: Apache-2.0
// Pure: the outcome of a trajectory, computed from its last verdict.
#pragma once

#include "runtime/config/rollout_config.hpp"
#include "runtime/submission.hpp"
#include "runtime/trajectory.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::actors {

/// Outcome of a judged submission: reward by `rule`, speed-ups of the worst shape.
Outcome judged_outcome(const Verdict& verdict, const FileSet& files, RewardRule rule);

/// Outcome of a trajectory without a submission: reward −1, minus `penalty` if a limit ended it.
Outcome empty_outcome(bool truncated, double penalty);

/// Orders verdicts of one task: 0 not correct, 1 correct, more for a higher lower bound of the
/// speed-up over eager.
double rank_of(const Verdict& verdict);

/// The better of the best so far and a newer one; the newer one if they are equal.
BestSubmission better_of(BestSubmission best, const Verdict& newer);

}  // namespace warpsmith::actors
