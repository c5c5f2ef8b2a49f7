// SPDX-License-Identifier: Apache-2.0
// Keys that a resume can no longer change: a key without effect is refused, never ignored.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/config/run_config.hpp"
#include "runtime/result.hpp"

namespace warpsmith::commands {

/// What a stage has done when it is resumed.
struct ResumedStage {
  std::string name;  // in its chain; empty for a single run
  Stage kind = Stage::agentic;
  bool finished = false;            // its chain goes on after it
  bool has_checkpoint = false;      // weights and critic come from it
  bool has_demonstrations = false;  // its script has written them
};

/// What the stage in `run` has done.
ResumedStage resumed_stage(const std::filesystem::path& run, Stage kind);

/// Why setting `key` (dotted) does not change the rest of the stage; empty if it does. Pure.
std::string why_without_effect(const std::string& key, const ResumedStage& stage);

/// Fails with `invalid_argument` for the first `--set KEY=VALUE` without effect on any of `stages`
/// (those of a chain, or one), with the reason. Pure.
Result<void> refuse_without_effect(const std::vector<std::string>& overrides,
                                   const std::vector<ResumedStage>& stages);

/// The same for the run or chain in `run`, whose configuration is `config`.
Result<void> check_resume_keys(const std::vector<std::string>& overrides,
                               const std::filesystem::path& run, const RunConfig& config);

}  // namespace warpsmith::commands
