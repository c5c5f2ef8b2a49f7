// SPDX-License-Identifier: Apache-2.0
// The transformer's forward pass for generation: rows of many sequences, packed weights, paged KV
// cache. Computes what Transformer computes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policy/generate/cpu/kernels.hpp"
#include "policy/generate/cpu/kv_cache.hpp"
#include "policy/generate/engine/backend.hpp"
#include "policy/model/transformer.hpp"

namespace warpsmith::policy {

/// A packed float32 copy of one version's weights, and the buffers of one step.
class DecodeModel {
 public:
  /// Computes positions from 0 to `max_positions` - 1.
  DecodeModel(const ModelConfig& config, const ModelWeights& weights, int64_t max_positions);

  /// Computes all rows, layer by layer. Returns the logits (n, vocab) of the n rows to sample, in
  /// order; valid until the next call.
  std::span<const float> forward(std::span<const DecodeRow> rows, KvCache& cache);

 private:
  struct Layer {
    std::vector<float> input_norm, post_norm, q_norm, k_norm;
    kernels::PackedMatrix qkv, out, gate_up, down;
  };
  struct Buffers {
    std::vector<float> hidden, normed, wide, mixed, logits, scratch;
  };

  void embed(std::span<const DecodeRow> rows, const kernels::Rows& hidden) const;
  void attention(const Layer& layer, int64_t index, std::span<const DecodeRow> rows,
                 KvCache& cache);
  void rotate_and_store(const Layer& layer, int64_t index, const DecodeRow& row, float* qkv,
                        KvCache& cache) const;
  void feed_forward(const Layer& layer, int64_t count);
  std::span<const float> head(std::span<const DecodeRow> rows);
  kernels::Rows rows_of(std::vector<float>& buffer, int64_t count, int64_t width) const;

  ModelConfig config_;
  std::vector<float> embed_;  // (V, H)
  std::vector<Layer> layers_;
  std::vector<float> final_norm_;
  kernels::PackedMatrix head_;
  std::vector<float> cos_, sin_;  // (max_positions, head_dim / 2)
  Buffers buffers_;
};

}  // namespace warpsmith::policy
