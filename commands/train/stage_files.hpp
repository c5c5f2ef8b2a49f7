// SPDX-License-Identifier: Apache-2.0
// What a finished stage of a chain made: the policy, the critic, its figures.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "commands/runs/chain_table.hpp"
#include "commands/train/stage_run.hpp"
#include "runtime/config/chain_config.hpp"

namespace warpsmith::commands {

/// What the earlier stages made for the next one. Paths and lists are empty until a stage fills
/// them.
struct ChainArtifacts {
  std::filesystem::path model, critic;
  std::vector<std::filesystem::path> collected;  // runs of stage `collect`
};

/// The record of a stage that is complete.
Result<StageRecord> record_of(const ChainStage& stage, const StageEnd& end);

/// The record of a stage that an earlier process finished and whose files exist; nullopt if it is
/// not finished. The figures of a stage that samples are read again, because its run may have been
/// resumed separately since; `locked` while such a run trains.
Result<std::optional<StageRecord>> finished_record(const ChainStage& stage,
                                                   const StagePaths& place);

/// `before`, with what the stage made.
ChainArtifacts with_stage(ChainArtifacts before, const StageRecord& record);

/// A stage's configuration with the artifacts filled in: the policy; the critic for stages that
/// train online; for `rft` and `value` the collected runs. What the stage names itself is not
/// replaced.
RunConfig config_with(const ChainStage& stage, const ChainArtifacts& from);

}  // namespace warpsmith::commands
