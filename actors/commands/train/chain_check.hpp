// SPDX-License-Identifier: Apache-2.0
// Checks the stages of a chain before the first of them runs.
#pragma once

#include "actors/commands/train/stage_files.hpp"

namespace warpsmith::actors {

/// Fails if a stage that is not finished could not begin, and names it: folders, files, devices and
/// runs that its configuration names, as far as they can be known before the stages in front of it
/// have run. `folder`: of the chain to resume; empty for a new one. Writes nothing.
Result<void> check_ahead(const std::vector<ChainStage>& stages,
                         const std::filesystem::path& folder);

}  // namespace warpsmith::actors
