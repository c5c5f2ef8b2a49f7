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

/// Fails if a name comes twice or is no folder name, or if `rft` or `value` has no trajectories:
/// neither runs of its own nor an earlier `collect`.
Result<void> check_chain(const std::vector<ChainStage>& stages);

}  // namespace warpsmith
