// SPDX-License-Identifier: Apache-2.0
// A trainer's folder: the policy as a Hugging Face model, with critic/, reference/,
// optimizer.safetensors and trainer.json (its scalars) next to it. With LoRA the model has the
// merged weights, and training continues from adapter.safetensors and adapter.json; the latter
// records how the adapters were made and for which frozen weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "policy/learn/advantage.hpp"
#include "policy/learn/lora.hpp"
#include "policy/learn/training_step.hpp"
#include "runtime/policy_version.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

/// The content of trainer.json.
struct TrainerNumbers {
  uint32_t step = 0;       // of the version that was saved
  uint64_t updates = 0;    // optimiser updates since the run began
  double mean_square = 0;  // of RunningScale
  std::map<uint64_t, PromptBaseline::Entry> prompts;
  RestoredSteps restored;  // see TrainerState; empty in files that do not have it yet
};

Result<void> write_trainer_numbers(const std::filesystem::path& file,
                                   const TrainerNumbers& numbers);
/// `not_found` if the file cannot be read, `parse_failed` if its content is invalid.
Result<TrainerNumbers> read_trainer_numbers(const std::filesystem::path& file);

/// SHA-256 of all parameters with their names. Equal only for weights of one type.
std::string checksum_of(const ModelWeights& weights);

/// Writes `adapters`, which are Lora::parameters by name, into an existing folder.
Result<void> save_lora(const std::filesystem::path& folder, const LoraOrigin& origin,
                       const WeightMap& adapters);

/// Copies a folder's adapters into the storage of `lora`, which belongs to `expected`.
/// `not_found` for a checkpoint without adapters, `invalid_config` for one of another rank, alpha
/// or targets, `corrupt` for one of other frozen weights, `parse_failed` for impossible content.
Result<void> restore_lora(const std::filesystem::path& folder, const LoraOrigin& expected,
                          Lora& lora);

/// `invalid_config` if the folder contains adapters: a learner of all parameters cannot continue
/// it.
Result<void> refuse_lora(const std::filesystem::path& folder);

/// The content of a checkpoint, copied to the host so that it can be written while the trainer
/// continues.
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
