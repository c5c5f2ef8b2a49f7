// SPDX-License-Identifier: Apache-2.0
// Small random models of every family for tests that must pass for any weights.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <vector>

#include "policy/model/transformer.hpp"
#include "runtime/random_stream.hpp"

namespace warpsmith::policy::test {

/// Two layers, 4 heads on 2 key heads, 61 tokens; large weights, so that errors are visible.
inline ModelConfig small_config(Family family) {
  ModelConfig config{.family = family,
                     .vocab = 61,
                     .hidden = 24,
                     .layers = 2,
                     .heads = 4,
                     .kv_heads = 2,
                     .head_dim = 8,
                     .ffn = 40,
                     .max_positions = 512};
  config.qkv_bias = family == Family::qwen2;
  config.qk_norm = family == Family::qwen3;
  config.tied_embeddings = family != Family::llama;
  config.init_std = 0.3;
  return config;
}

inline Transformer small_model(Family family, at::ScalarType dtype = at::kFloat) {
  const ModelConfig config = small_config(family);
  RandomStream random(11, "small model");
  ModelWeights weights = make_weights(config, random, dtype);
  for (auto& [name, tensor] : weights.parameters()) {
    if (tensor.dim() != 1) continue;
    for (int64_t i = 0; i < tensor.numel(); ++i) tensor[i].add_(random.uniform() - 0.5);
  }
  return {config, std::move(weights)};
}

inline std::vector<int32_t> random_tokens(size_t count, uint64_t index, uint64_t vocab = 61) {
  RandomStream random(5, "tokens", index);
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random.below(vocab));
  return tokens;
}

inline double max_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

}  // namespace warpsmith::policy::test
