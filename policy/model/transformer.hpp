// SPDX-License-Identifier: Apache-2.0
// The language model: tokens to hidden states, for learner and generator alike.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "policy/model/config.hpp"
#include "policy/model/sequence_cache.hpp"
#include "policy/model/weights.hpp"

namespace warpsmith::policy {

/// Sequences of different lengths end to end, without padding. T = sum of lengths.
struct PackedBatch {
  at::Tensor tokens;             // (T) int64
  std::vector<int64_t> lengths;  // of each sequence; all at least 1
};

/// Packs token vectors. Throws if one is empty.
PackedBatch pack_sequences(std::span<const std::vector<int32_t>> sequences);

/// A body with its parameters. Copying shares them; it keeps no other state, so that const calls
/// from several threads are safe.
class Transformer {
 public:
  Transformer(ModelConfig config, ModelWeights weights);

  const ModelConfig& config() const { return config_; }
  const ModelWeights& weights() const { return weights_; }
  ModelWeights& weights() { return weights_; }

  /// Hidden states after the final norm, (T, hidden). Differentiable in the weights.
  at::Tensor forward(const PackedBatch& batch) const;

  /// Continues sequences whose past lies in `caches` (one each, extended by this call). Without
  /// gradients.
  at::Tensor forward(const PackedBatch& batch, std::span<SequenceCache* const> caches) const;

  /// Vocabulary scores of hidden states (n, hidden) → (n, vocab). For few rows; losses use
  /// `token_log_probs`, which never holds them whole.
  at::Tensor logits(const at::Tensor& hidden) const;

 private:
  at::Tensor run(const PackedBatch& batch, std::span<SequenceCache* const> caches) const;

  ModelConfig config_;
  ModelWeights weights_;
  at::Tensor frequencies_;  // see rope_frequencies
};

}  // namespace warpsmith::policy
