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
  bool own_policy = false;  // its own table names the policy to start from; else the newest
  bool own_critic = false;  // the same for the critic; empty: no critic
};

/// Reads the configuration of one stage, from the file of its chain or from the text that `to_toml`
/// makes.
Result<ChainStage> load_stage(const std::filesystem::path& file,
                              const std::vector<std::string>& overrides, const std::string& name);

/// The effective configuration; keys that the stage's own table sets are written in that table.
std::string to_toml(const ChainStage& stage);

/// Reads the configuration of every stage in `names` from `file`. Fails with the complaints of all
/// stages, or if a stage needs the output of an earlier stage that is not in the list.
Result<std::vector<ChainStage>> load_chain(const std::filesystem::path& file,
                                           const std::vector<std::string>& overrides,
                                           const std::vector<std::string>& names);

/// The seed of a stage. Each stage that samples has its own seed, derived from its name, so that no
/// two draw the same tasks and tokens.
int64_t stage_seed(const ChainStage& stage);

/// Fails if a name is listed twice or is not a valid folder name, or if `rft` or `value` has
/// neither a list of runs nor an earlier `collect` to take trajectories from.
Result<void> check_chain(const std::vector<ChainStage>& stages);

}  // namespace warpsmith
