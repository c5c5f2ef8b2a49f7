// SPDX-License-Identifier: Apache-2.0
// One run of trajectories from the command line: start, progress, Ctrl-C, summary.
#pragma once

#include "commands/train/stage_end.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::commands {

/// Runs the stages warmup and agentic until every trajectory is trained or dropped, and collect
/// until every one is judged or dropped; ends before at the time limit or Ctrl-C. The first Ctrl-C
/// stops cleanly with a checkpoint; a second ends at once, and acknowledged records stay on disk.
StageEnd run_training(const RunConfig& config, const RunPlace& place, const Output& output);

/// Fails as `run_training` would before it makes its folder. With model.weights = "random" the
/// model's folder need not have weights.
Result<void> check_training(const RunConfig& config);

}  // namespace warpsmith::commands
