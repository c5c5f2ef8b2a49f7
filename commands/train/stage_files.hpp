// SPDX-License-Identifier: Apache-2.0
// Reads what a finished stage made: the policy, the critic, and its figures.
#pragma once

#include <optional>

#include "commands/train/chain_table.hpp"
#include "commands/train/stage_end.hpp"
#include "commands/train/stage_place.hpp"
#include "runtime/config/chain_config.hpp"

namespace warpsmith::commands {

/// What earlier stages leave to the next one. Paths are empty, and lists too, until a stage makes
/// them.
struct Inheritance {
  std::filesystem::path model, critic;
  std::vector<std::filesystem::path> collected;  // runs of stage `collect`
};

/// The record of a stage that is complete.
Result<StageRecord> record_of(const ChainStage& stage, const StageEnd& end);

/// The record of a stage that an earlier process finished, whose files are there; nullopt if it is
/// not finished. A stage that samples is read anew, because its run can have gone on since by a
/// `--resume` of its own; `locked` while such a run trains.
Result<std::optional<StageRecord>> finished_record(const ChainStage& stage,
                                                   const StagePlace& place);

/// `before`, and what the stage made.
Inheritance with_stage(Inheritance before, const StageRecord& record);

/// A stage's configuration with what it inherits: the policy; the critic for stages that train
/// online; for `rft` and `value` the collected runs. What the stage names itself is not replaced.
RunConfig inherited(const ChainStage& stage, const Inheritance& from);

}  // namespace warpsmith::commands
