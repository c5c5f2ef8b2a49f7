// SPDX-License-Identifier: Apache-2.0
// The stages of a chain, each with its whole configuration.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/config/run_config.hpp"

namespace warpsmith {

struct ChainStage {
  std::string name;  // as in run.stages
  RunConfig config;
};

/// Reads the configuration of every stage in `names` from `file`. Fails with the complaints of all
/// stages, or if a stage lacks what an earlier one makes.
Result<std::vector<ChainStage>> load_chain(const std::filesystem::path& file,
                                           const std::vector<std::string>& overrides,
                                           const std::vector<std::string>& names);

/// The seed of a stage. Stages that sample have one of their own, by name, so that none draws the
/// tasks and tokens of another again.
int64_t stage_seed(const ChainStage& stage);

/// Fails if a name comes twice or is no folder name, or if `rft` or `value` has no trajectories:
/// neither runs of its own nor an earlier `collect`.
Result<void> check_chain(const std::vector<ChainStage>& stages);

}  // namespace warpsmith
