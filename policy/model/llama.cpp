// SPDX-License-Identifier: Apache-2.0
// Llama 2 and 3, and models with the same model_type, such as SmolLM2.
#include "policy/model/family.hpp"

namespace warpsmith::policy {
namespace {

Result<void> llama_options(const DeclaredOptions& options, ModelConfig& config) {
  config.qkv_bias = options.attention_bias;
  config.out_bias = options.attention_bias;
  config.mlp_bias = options.mlp_bias;
  config.head_dim = options.head_dim != 0 ? options.head_dim : config.hidden / config.heads;
  return {};
}

}  // namespace

FamilyTraits llama_traits() {
  return {Family::llama, "llama", "LlamaForCausalLM", llama_options, llama_style_parts};
}

}  // namespace warpsmith::policy
