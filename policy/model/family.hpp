// SPDX-License-Identifier: Apache-2.0
// The differences between model families: options of config.json and names of parameters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/model/config.hpp"

namespace warpsmith::policy {

/// Options of config.json whose meaning or default depends on the family.
struct DeclaredOptions {
  bool attention_bias = false;
  bool mlp_bias = false;
  bool use_sliding_window = false;
  int64_t head_dim = 0;  // 0: not given
};

/// One Hugging Face tensor and its rows in a fused parameter.
struct NamedPart {
  std::string hf_name;  // "model.layers.0.self_attn.k_proj.weight"
  std::string fused;    // "layers.0.qkv"; see ModelWeights::parameters
  int64_t first_row = 0;
  std::vector<int64_t> shape;  // of this part
};

/// One architecture. To add one, write a file that makes this record and list it in `families()`.
struct FamilyTraits {
  Family family;
  std::string_view model_type;    // config.json "model_type"
  std::string_view architecture;  // config.json "architectures"[0]
  /// Applies the options to `config`; `unsupported` for one that the family does not have.
  Result<void> (*apply)(const DeclaredOptions& options, ModelConfig& config);
  /// Every tensor of a model, in a stable order. Parts of one fused parameter are adjacent.
  std::vector<NamedPart> (*parts)(const ModelConfig& config);
};

FamilyTraits llama_traits();
FamilyTraits qwen2_traits();
FamilyTraits qwen3_traits();

const std::vector<FamilyTraits>& families();
const FamilyTraits& traits_of(Family family);

/// The tensor names of Llama and Qwen, with biases and head norms as in the config.
std::vector<NamedPart> llama_style_parts(const ModelConfig& config);

}  // namespace warpsmith::policy
