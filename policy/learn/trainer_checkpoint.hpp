// SPDX-License-Identifier: Apache-2.0
// A trainer's folder: the policy as a Hugging Face model, beside it critic/, reference/,
// optimizer.safetensors and trainer.json.
#pragma once

#include <filesystem>

#include "policy/learn/trainer_state.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

/// Writes into `folder`, which exists.
Result<void> save_checkpoint(const TrainerState& state, const std::filesystem::path& folder);

/// Replaces the contents of `state` by a checkpoint of the same configuration; its tensors keep
/// their storage. The version becomes (`incarnation`, saved step). After an error `state` may be
/// replaced in part.
Result<void> restore_checkpoint(TrainerState& state, const std::filesystem::path& folder,
                                uint32_t incarnation);

}  // namespace warpsmith::policy
