// SPDX-License-Identifier: Apache-2.0
// Runs the pre-training of the critic.
#pragma once

#include "commands/train/stage_end.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::commands {

/// Trains a critic of `model.folder` on all closed trajectories of `value.runs`, failures too. The
/// critic with the highest explained variance goes into the run folder's critic/, for
/// `learner.critic.folder`.
StageEnd run_value(const RunConfig& config, const RunPlace& place, const Output& output);

}  // namespace warpsmith::commands
