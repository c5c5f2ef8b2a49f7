// SPDX-License-Identifier: Apache-2.0
// A model as a Hugging Face folder: config.json, weights (one file or shards), tokenizer files.
#pragma once

#include <filesystem>
#include <string_view>

#include "policy/model/config.hpp"
#include "policy/model/transformer.hpp"
#include "policy/model/weights.hpp"
#include "runtime/result.hpp"

namespace warpsmith::policy {

/// Reads config.json, with the stop tokens of generation_config.json if that file exists.
Result<ModelConfig> read_hf_config(const std::filesystem::path& folder);

/// True if the folder has weights in addition to its configuration.
bool has_hf_weights(const std::filesystem::path& folder);

/// Reads all tensors of model.safetensors or, if there is no such file, of the shards in
/// model.safetensors.index.json.
/// `not_found` for a missing file, `parse_failed` for a tensor that its shard lacks.
Result<WeightMap> read_hf_weights(const std::filesystem::path& folder);

/// Reads configuration and weights; converts the weights to `dtype`.
Result<Transformer> load_hf_model(const std::filesystem::path& folder,
                                  at::ScalarType dtype = at::kFloat);

/// Makes a model with random weights from the folder's config.json.
Result<Transformer> make_hf_model(const std::filesystem::path& folder, RandomStream& random);

/// Creates or replaces a file of a folder; `disk_full` or `io_failed` names it.
Result<void> write_text_file(const std::filesystem::path& path, std::string_view text);

/// Copies the tokenizer's files and the chat template where they exist, and adds the generation
/// settings that `to` lacks.
Result<void> copy_other_files(const std::filesystem::path& from, const std::filesystem::path& to);

/// Saves `model` in the type that the weights in `from` are stored in (float32 if it has none),
/// with the other files of `from`: bf16 weights stay bf16 regardless of the training precision.
Result<void> export_hf_model(const std::filesystem::path& folder, const Transformer& model,
                             const std::filesystem::path& from);

/// Writes config.json, generation_config.json and model.safetensors into an existing folder, then
/// copies the other files from `others_from` unless that is empty. `transformers` and vLLM open the
/// result.
Result<void> save_hf_model(const std::filesystem::path& folder, const Transformer& model,
                           const std::filesystem::path& others_from = {});

}  // namespace warpsmith::policy
