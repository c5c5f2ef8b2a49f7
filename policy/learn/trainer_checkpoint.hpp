// SPDX-License-Identifier: Apache-2.0
// A trainer's folder: the policy as a Hugging Face model, beside it critic/, reference/,
// optimizer.safetensors and trainer.json. With LoRA the model has the merged weights, and
// adapter.safetensors and adapter.json hold what training continues from.
#pragma once

#include <filesystem>
#include <optional>

#include "policy/learn/trainer_json.hpp"
#include "policy/learn/trainer_state.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

/// What a checkpoint holds, copied to the host: it can be written while the trainer goes on.
class TrainerSnapshot {
 public:
  explicit TrainerSnapshot(const TrainerState& state);

  PolicyVersion version() const { return version_; }
  /// Writes into `folder`, which exists.
  Result<void> save(const std::filesystem::path& folder) const;

 private:
  PolicyVersion version_;
  Transformer actor_;
  std::optional<Transformer> critic_body_, reference_;
  ValueHead head_;
  WeightMap moments_;
  std::optional<LoraOrigin> lora_;
  WeightMap adapters_;
  TrainerNumbers numbers_;
};

/// Replaces the contents of `state` by a checkpoint of the same configuration; its tensors keep
/// their storage. The version becomes (`incarnation`, saved step). After an error `state` may be
/// replaced in part.
Result<void> restore_checkpoint(TrainerState& state, const std::filesystem::path& folder,
                                uint32_t incarnation);

}  // namespace warpsmith::policy
