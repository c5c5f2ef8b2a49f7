// SPDX-License-Identifier: Apache-2.0
// Runs the supervised stage: demonstrations, fine-tuning, export.
#pragma once

#include "commands/train/stage_end.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::commands {

/// Writes the demonstrations if a script is configured, fine-tunes, and saves the model into the
/// run folder and, at the end, into `sft.export_to`. Writes a checkpoint every
/// `ledger.checkpoint_steps` steps and at a stop (Ctrl-C, time limit); a resume continues from the
/// newest as if there had been no stop.
StageEnd run_sft(const RunConfig& config, const RunPlace& place, const Output& output);

/// Fails if the demonstrations cannot be read or, as there is only a script, if it is missing.
Result<void> check_demonstrations(const SftConfig& config);

}  // namespace warpsmith::commands
