// SPDX-License-Identifier: Apache-2.0
// `train --dry-run`: shows what would run and the memory it would take, without starting anything.
#pragma once

#include "commands/train/stage_run.hpp"

namespace warpsmith::commands {

/// Prints the actor tree or the stage of a run, with the memory that it is expected to take, then
/// fails as the run itself would before it makes a file.
Result<void> print_dry_run(const RunConfig& config, const Ahead& ahead);

}  // namespace warpsmith::commands
