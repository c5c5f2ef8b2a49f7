// SPDX-License-Identifier: Apache-2.0
// Adapters on disk: adapter.safetensors, and adapter.json that says how they were made and of which
// frozen weights.
#pragma once

#include <filesystem>
#include <string>

#include "policy/learn/lora.hpp"
#include "policy/learn/lora_origin.hpp"

namespace warpsmith::policy {

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

/// `invalid_config` if the folder holds adapters: a learner of all parameters cannot continue it.
Result<void> refuse_lora(const std::filesystem::path& folder);

}  // namespace warpsmith::policy
