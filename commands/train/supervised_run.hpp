// SPDX-License-Identifier: Apache-2.0
// Supervised learning as a run: of stage `sft` on demonstrations, of `rft` on kept trajectories.
#pragma once

#include "commands/train/data_run.hpp"
#include "policy/learn/stages/sft.hpp"

namespace warpsmith::commands {

/// Fine-tunes, and saves the model into the run folder's model/ and, at the end, into
/// `sft.export_to`, in the type of the weights in model.folder; checkpoints have float32.
StageEnd run_supervised(policy::SftStage stage, const DataRun& run, const RunFolder& folder);

}  // namespace warpsmith::commands
