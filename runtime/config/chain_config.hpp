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
  bool own_policy =
      false;  // its own table names the policy that it starts from; else the newest one
  bool own_critic = false;  // the same for the critic; an empty folder means none
};

/// Reads the configuration of one stage, from the file of its chain or from the text that `to_toml`
/// makes.
Result<ChainStage> load_stage(const std::filesystem::path& file,
                              const std::vector<std::string>& overrides, const std::string& name);

/// The effective configuration, with what the stage's own table names in such a table.
std::string to_toml(const ChainStage& stage);

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
