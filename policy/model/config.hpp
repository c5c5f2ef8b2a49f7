// SPDX-License-Identifier: Apache-2.0
// The shape of a decoder-only transformer, and the model families: their options in config.json and
// their parameters' names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::policy {

enum class Family : uint8_t { llama, qwen2, qwen3 };

/// How rotary frequencies are scaled for longer contexts.
enum class RopeScalingKind : uint8_t {
  none,    // HF "default"
  linear,  // every frequency divided by `factor`
  llama3,  // Llama 3.1: low frequencies divided, high ones kept, interpolated between
  yarn,    // the same with bounds by rotations, and longer queries and keys (arXiv 2309.00071)
};

struct RopeScaling {
  RopeScalingKind kind = RopeScalingKind::none;
  double factor = 1.0;
  double low_freq_factor = 1.0;           // llama3 only
  double high_freq_factor = 4.0;          // llama3 only
  int64_t original_max_positions = 8192;  // llama3 and yarn
  double beta_fast = 32.0;                // yarn: rotations from which a frequency is kept
  double beta_slow = 1.0;                 // yarn: rotations up to which it is divided
  double attention_factor = 0.0;          // yarn: of cosines and sines; 0: 0.1 ln(factor) + 1
  bool truncate = true;                   // yarn: bounds are rounded to whole dimensions
};

/// Sizes count elements. Layers are pre-norm with SwiGLU, rotary and grouped-query attention.
struct ModelConfig {
  Family family = Family::llama;
  int64_t vocab = 0;
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t ffn = 0;
  int64_t max_positions = 0;
  double rms_eps = 1e-6;
  double rope_theta = 10'000.0;
  RopeScaling rope;
  bool qk_norm = false;          // RMS norm of each head's query and key (Qwen3)
  bool qkv_bias = false;         // bias of the query, key and value projections (Qwen2)
  bool out_bias = false;         // bias of attention's output projection (llama, attention_bias)
  bool mlp_bias = false;         // bias of the three feed-forward projections (llama, mlp_bias)
  bool tied_embeddings = false;  // the output head is the embedding matrix
  double init_std = 0.02;        // standard deviation of random weight matrices
  int64_t bos_token = -1;        // -1: none
  std::vector<int64_t> eos_tokens;

  int64_t q_size() const { return heads * head_dim; }
  int64_t kv_size() const { return kv_heads * head_dim; }
  /// Rows of the fused query, key and value projection.
  int64_t qkv_size() const { return q_size() + 2 * kv_size(); }
  int64_t parameter_count() const;

  /// `parse_failed` for the first size that is impossible or larger than 2^24.
  Result<void> validate() const;
};

/// The family's `model_type` in config.json.
const char* to_string(Family family) noexcept;

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

/// One architecture. To add one, make this record in config.cpp and list it in `families()`.
struct FamilyTraits {
  Family family;
  std::string_view model_type;    // config.json "model_type"
  std::string_view architecture;  // config.json "architectures"[0]
  /// Applies the options to `config`; `unsupported` for one that the family does not have.
  Result<void> (*apply)(const DeclaredOptions& options, ModelConfig& config);
  /// Every tensor of a model, in a stable order. Parts of one fused parameter are adjacent.
  std::vector<NamedPart> (*parts)(const ModelConfig& config);
};

const std::vector<FamilyTraits>& families();
const FamilyTraits& traits_of(Family family);

}  // namespace warpsmith::policy
