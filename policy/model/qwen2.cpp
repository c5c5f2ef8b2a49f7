// SPDX-License-Identifier: Apache-2.0
// Qwen2 and Qwen2.5: query, key and value projections always have a bias.
#include "policy/model/family.hpp"

namespace warpsmith::policy {
namespace {

Result<void> qwen2_options(const DeclaredOptions& options, ModelConfig& config) {
  if (options.use_sliding_window) {
    return fail(ErrorCode::unsupported, "qwen2: use_sliding_window = true is not supported");
  }
  config.qkv_bias = true;
  config.head_dim = options.head_dim != 0 ? options.head_dim : config.hidden / config.heads;
  return {};
}

}  // namespace

FamilyTraits qwen2_traits() {
  return {Family::qwen2, "qwen2", "Qwen2ForCausalLM", qwen2_options, llama_style_parts};
}

}  // namespace warpsmith::policy
