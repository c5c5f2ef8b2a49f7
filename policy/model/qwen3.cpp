// SPDX-License-Identifier: Apache-2.0
// Qwen3, dense: each head's query and key are normalised before rotation.
#include "policy/model/family.hpp"

namespace warpsmith::policy {
namespace {

constexpr int64_t default_head_dim = 128;  // of transformers' Qwen3Config

Result<void> qwen3_options(const DeclaredOptions& options, ModelConfig& config) {
  if (options.use_sliding_window) {
    return fail(ErrorCode::unsupported, "qwen3: use_sliding_window = true is not supported");
  }
  config.qk_norm = true;
  config.qkv_bias = options.attention_bias;
  config.out_bias = options.attention_bias;
  config.head_dim = options.head_dim != 0 ? options.head_dim : default_head_dim;
  return {};
}

}  // namespace

FamilyTraits qwen3_traits() {
  return {Family::qwen3, "qwen3", "Qwen3ForCausalLM", qwen3_options, llama_style_parts};
}

}  // namespace warpsmith::policy
