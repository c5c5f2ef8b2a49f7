// SPDX-License-Identifier: Apache-2.0
// The supervised stage from the command line: demonstrations, fine-tuning, the exported folder.
#pragma once

#include "actors/commands/train_run.hpp"

namespace warpsmith::actors {

/// Writes the demonstrations if a script is configured, fine-tunes, and saves the model into a run
/// folder and, where configured, into `sft.export_to`. Ctrl-C keeps what was learnt so far.
ExitCode run_sft(const RunConfig& config, const Output& output);

}  // namespace warpsmith::actors
