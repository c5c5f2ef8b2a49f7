// SPDX-License-Identifier: Apache-2.0
// Runs whatever stage a configuration asks for.
#pragma once

#include "commands/train/stage_end.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::commands {

StageEnd run_stage(const RunConfig& config, const RunPlace& place, const Output& output);

/// What is there when a stage is checked.
struct Ahead {
  std::filesystem::path begun = {};  // the folder of its run, to be resumed; empty if it has none
  bool weights_come = false;         // a stage before it makes them; model.folder has their shape
};

/// Fails as `run_stage` would before it makes a file, as far as this is known ahead. Writes
/// nothing.
Result<void> check_stage(RunConfig config, const Ahead& ahead);

}  // namespace warpsmith::commands
