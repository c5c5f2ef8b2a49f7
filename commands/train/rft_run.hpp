// SPDX-License-Identifier: Apache-2.0
// Runs rejection fine-tuning: filter, supervised learning on what is kept.
#pragma once

#include "commands/train/stage_end.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::commands {

/// Learns from the kept trajectories of `rft.runs`, which may be in progress, as `run_sft` from
/// demonstrations. The run folder's selection.json lists what was kept, and the rest by reason.
StageEnd run_rft(const RunConfig& config, const RunPlace& place, const Output& output);

}  // namespace warpsmith::commands
