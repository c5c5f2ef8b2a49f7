// SPDX-License-Identifier: Apache-2.0
// The language model: packs of token sequences to hidden states and logits.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policy/model/config.hpp"
#include "policy/model/log_probs.hpp"
#include "policy/model/sequence_cache.hpp"
#include "policy/model/weights.hpp"

namespace warpsmith::policy {

/// Sequences of different lengths end to end, without padding. T = sum of lengths.
struct PackedBatch {
  at::Tensor tokens;             // (T) int64
  std::vector<int64_t> lengths;  // of each sequence; all at least 1
};

/// Packs token vectors, on the CPU. Throws if one is empty.
PackedBatch pack_sequences(std::span<const std::vector<int32_t>> sequences);

/// How a model computes.
struct ComputeOptions {
  std::optional<at::ScalarType> type;  // of a copy of the weights; absent: the weights themselves
  bool recompute = false;  // gradients keep each layer's input and compute the rest again; always
                           // so with a copy
  bool stash = false;  // those inputs are in host memory until the backward pass; see LayerStash
};

/// A model with its parameters; copies share them. Computes on their device. Has no other state, so
/// const calls from several threads are safe.
class Transformer {
 public:
  Transformer(ModelConfig config, ModelWeights weights, ComputeOptions compute = {});

  const ModelConfig& config() const { return config_; }
  const ModelWeights& weights() const { return weights_; }
  ModelWeights& weights() { return weights_; }
  const ComputeOptions& compute() const { return compute_; }
  /// The weights in the type that the model computes in.
  const ModelWeights& computed() const { return computed_; }
  /// The output head, for `token_log_probs`.
  HeadPair head() const { return {weights_.head, computed_.head}; }
  /// A copy with separate tensors on `device`, without gradients.
  Transformer copy_on(at::Device device) const;
  /// Brings `computed` up to date. Call it after each change of the weights.
  void refresh();

  /// Hidden states after the final norm, (T, hidden). Differentiable in the weights.
  at::Tensor forward(const PackedBatch& batch) const;

  /// Continues sequences with their past in `caches` (one each) and appends to them. No gradients.
  at::Tensor forward(const PackedBatch& batch, std::span<SequenceCache* const> caches) const;

  /// Logits of hidden states (n, hidden) → (n, vocab). For few rows; losses use `token_log_probs`,
  /// which computes them in chunks.
  at::Tensor logits(const at::Tensor& hidden) const;

 private:
  at::Tensor run(const PackedBatch& batch, std::span<SequenceCache* const> caches) const;
  at::Tensor embed(const at::Tensor& tokens) const;

  ModelConfig config_;
  ModelWeights weights_;
  ComputeOptions compute_;
  ModelWeights computed_;   // shares its tensors with `weights_` unless it has another type
  at::Tensor frequencies_;  // see rope_frequencies
};

/// One sequence: (T) tokens, and 1 where a token is to be scored. Token 0 is never scored.
struct MaskedTokens {
  std::span<const int32_t> tokens;
  std::span<const uint8_t> mask;
};

/// The hidden state at position t − 1 scores token t, so the packed sequence ends one token before
/// the last scored one.
struct ActionPack {
  PackedBatch batch;
  at::Tensor rows;     // (N) int64, indices of packed rows
  at::Tensor targets;  // (N) int64, the scored tokens
};

/// Throws std::invalid_argument for a sequence without a scored token beyond its first.
ActionPack plan_actions(std::span<const MaskedTokens> sequences);

/// A vector as an (n) int64 tensor.
at::Tensor index_tensor(const std::vector<int64_t>& values);

}  // namespace warpsmith::policy
