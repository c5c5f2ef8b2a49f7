// SPDX-License-Identifier: Apache-2.0
// The transformer's forward pass for generation: rows of many sequences through packed weights and
// the paged cache. The same mathematics as Transformer, which a test holds it to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policy/generate/kernels.hpp"
#include "policy/generate/kv_cache.hpp"
#include "policy/model/transformer.hpp"

namespace warpsmith::policy {

/// One token to compute. Its key and value go into block `position / 16` of `blocks`, which must
/// hold all earlier positions, or get them in the same call.
struct DecodeRow {
  int32_t token = 0;
  int32_t position = 0;
  std::span<const BlockId> blocks;
  bool wants_logits = false;
};

/// Weights of one version, packed (a copy), with the buffers of one step. Float32 on the host.
class DecodeModel {
 public:
  /// Positions from 0 to `max_positions` - 1 can be computed.
  DecodeModel(const ModelConfig& config, const ModelWeights& weights, int64_t max_positions);

  const ModelConfig& config() const { return config_; }

  /// Computes all rows, layer by layer, and returns the logits of those that want them, in order:
  /// (wanted, vocab), valid until the next call.
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
