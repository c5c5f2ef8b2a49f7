// SPDX-License-Identifier: Apache-2.0
// `train --dry-run`: shows what would run and the memory it would take, without starting anything.
#pragma once

#include "actors/commands/command.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

/// Loads everything that a run loads, prints the actor tree and its expected memory, and fails with
/// what this machine lacks for it, if anything.
ExitCode print_dry_run(const RunConfig& config);

}  // namespace warpsmith::actors
