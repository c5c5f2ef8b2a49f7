// SPDX-License-Identifier: Apache-2.0
// `train --dry-run`: what would run and what memory it would take, without starting anything.
#pragma once

#include "actors/commands/command.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

/// Loads everything that a run loads, prints the actor tree and the memory it expects, and ends
/// with what this machine lacks for it, if anything.
ExitCode print_dry_run(const RunConfig& config);

}  // namespace warpsmith::actors
