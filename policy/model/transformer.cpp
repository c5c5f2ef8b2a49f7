// SPDX-License-Identifier: Apache-2.0
#include "policy/model/transformer.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>

#include <numeric>
#include <stdexcept>
#include <utility>

#include "policy/model/attention.hpp"
#include "policy/model/mlp.hpp"
#include "policy/model/norm.hpp"
#include "policy/model/rope.hpp"

namespace warpsmith::policy {
namespace {

/// The position of every packed token in its sequence, including the past: (T) int64.
at::Tensor positions_of(const SequenceLayout& layout, const at::Tensor& tokens) {
  at::Tensor positions = at::empty({tokens.size(0)}, at::TensorOptions(at::kLong));
  int64_t* out = positions.mutable_data_ptr<int64_t>();
  for (size_t i = 0; i < layout.lengths.size(); ++i) {
    const int64_t past = layout.caches.empty() ? 0 : layout.caches[i]->length();
    std::iota(out, out + layout.lengths[i], past);
    out += layout.lengths[i];
  }
  return positions.to(tokens.device());
}

void check_lengths(const PackedBatch& batch) {
  int64_t total = 0;
  for (const int64_t length : batch.lengths) {
    if (length < 1) throw std::invalid_argument("packed batch: a sequence without tokens");
    total += length;
  }
  if (total == batch.tokens.size(0) && total > 0) return;
  throw std::invalid_argument("packed batch: lengths add up to " + std::to_string(total) +
                              ", tokens are " + std::to_string(batch.tokens.size(0)));
}

}  // namespace

PackedBatch pack_sequences(std::span<const std::vector<int32_t>> sequences) {
  PackedBatch batch;
  int64_t total = 0;
  for (const auto& sequence : sequences) {
    batch.lengths.push_back(static_cast<int64_t>(sequence.size()));
    total += batch.lengths.back();
  }
  batch.tokens = at::empty({total}, at::TensorOptions(at::kLong));
  int64_t* out = batch.tokens.mutable_data_ptr<int64_t>();
  for (const auto& sequence : sequences) out = std::copy(sequence.begin(), sequence.end(), out);
  check_lengths(batch);
  return batch;
}

Transformer::Transformer(ModelConfig config, ModelWeights weights)
    : config_(std::move(config)),
      weights_(std::move(weights)),
      frequencies_(rope_frequencies(config_).to(weights_.embed.device())) {}

at::Tensor Transformer::forward(const PackedBatch& batch) const {
  return run(batch, {});
}

at::Tensor Transformer::forward(const PackedBatch& batch,
                                std::span<SequenceCache* const> caches) const {
  if (caches.size() != batch.lengths.size()) {
    throw std::invalid_argument("packed batch: one cache per sequence is needed");
  }
  const at::NoGradGuard no_grad;
  at::Tensor hidden = run(batch, caches);
  for (size_t i = 0; i < caches.size(); ++i) caches[i]->advance(batch.lengths[i]);
  return hidden;
}

at::Tensor Transformer::run(const PackedBatch& batch,
                            std::span<SequenceCache* const> caches) const {
  check_lengths(batch);
  const SequenceLayout layout{batch.lengths, caches};
  const RopeAngles angles = rope_angles(frequencies_, positions_of(layout, batch.tokens),
                                        weights_.embed.scalar_type(), rope_magnitude(config_));
  const AttentionContext context{config_, angles, layout};
  at::Tensor hidden = at::embedding(weights_.embed, batch.tokens);
  for (int64_t i = 0; i < config_.layers; ++i) {
    const LayerWeights& layer = weights_.layers[static_cast<size_t>(i)];
    hidden =
        hidden + attend(context, layer, i, rms_norm(hidden, layer.input_norm, config_.rms_eps));
    hidden = hidden + feed_forward(layer, rms_norm(hidden, layer.post_norm, config_.rms_eps));
  }
  return rms_norm(hidden, weights_.final_norm, config_.rms_eps);
}

at::Tensor Transformer::logits(const at::Tensor& hidden) const {
  return at::linear(hidden, weights_.head);
}

}  // namespace warpsmith::policy
