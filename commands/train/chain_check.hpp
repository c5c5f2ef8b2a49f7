// SPDX-License-Identifier: Apache-2.0
// Checks the stages of a chain before the first of them runs.
#pragma once

#include <functional>

#include "commands/train/stage_files.hpp"
#include "commands/train/stage_run.hpp"

namespace warpsmith::commands {

/// Gets a stage's name, its configuration, and what will be there when it begins.
using VisitAhead = std::function<Result<void>(const std::string&, const RunConfig&, const Ahead&)>;

/// Calls `visit` with the name of each stage that is not finished, its configuration and what will
/// be there when it begins, as far as both can be known before the stages in front of it have run.
/// The first failure ends the walk and names its stage. `folder`: of the chain to resume; empty for
/// a new one. Writes nothing.
Result<void> walk_ahead(const std::vector<ChainStage>& stages, const std::filesystem::path& folder,
                        const VisitAhead& visit);

/// Fails if a stage that is not finished could not begin: folders, files, devices and runs that its
/// configuration names.
Result<void> check_ahead(const std::vector<ChainStage>& stages,
                         const std::filesystem::path& folder);

}  // namespace warpsmith::commands
