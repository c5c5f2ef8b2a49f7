// SPDX-License-Identifier: Apache-2.0
#include "policy/model/transformer.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>

#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "policy/model/layer.hpp"
#include "policy/model/norm.hpp"
#include "policy/model/rope.hpp"

namespace warpsmith::policy {
namespace {

/// The position of every packed token in its sequence, including the past: (T) int64.
at::Tensor positions_of(const PackedBatch& batch, std::span<SequenceCache* const> caches) {
  at::Tensor positions = at::empty({batch.tokens.size(0)}, at::TensorOptions(at::kLong));
  int64_t* out = positions.mutable_data_ptr<int64_t>();
  for (size_t i = 0; i < batch.lengths.size(); ++i) {
    const int64_t past = caches.empty() ? 0 : caches[i]->length();
    std::iota(out, out + batch.lengths[i], past);
    out += batch.lengths[i];
  }
  return positions;
}

/// (B + 1) int32.
at::Tensor bounds_of(const std::vector<int64_t>& lengths) {
  at::Tensor bounds =
      at::empty({static_cast<int64_t>(lengths.size()) + 1}, at::TensorOptions(at::kInt));
  int32_t* out = bounds.mutable_data_ptr<int32_t>();
  *out = 0;
  for (const int64_t length : lengths) {
    out[1] = *out + static_cast<int32_t>(length);
    ++out;
  }
  return bounds;
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

Transformer::Transformer(ModelConfig config, ModelWeights weights, ComputeOptions compute)
    : config_(std::move(config)),
      weights_(std::move(weights)),
      compute_(compute),
      computed_(weights_),
      frequencies_(rope_frequencies(config_).to(weights_.embed.device())) {
  if (!compute.type || *compute.type == weights_.embed.scalar_type()) return;
  computed_ = weights_.converted(at::TensorOptions(*compute.type));
  compute_.recompute = true;
}

Transformer Transformer::copy_on(at::Device device) const {
  return {config_, weights_.copy_on(device), compute_};
}

void Transformer::refresh() {
  if (!computed_.embed.is_same(weights_.embed)) computed_.copy_from(weights_);
}

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
  const at::Device device = computed_.embed.device();
  const auto pack = std::make_shared<const PackContext>(PackContext{
      config_,
      rope_angles(frequencies_, positions_of(batch, caches).to(device),
                  computed_.embed.scalar_type(), rope_magnitude(config_)),
      batch.lengths, device.is_cuda() ? bounds_of(batch.lengths).to(device) : at::Tensor()});
  const bool again = compute_.recompute && at::GradMode::is_enabled() && caches.empty();
  const auto stash = again && compute_.stash ? std::make_shared<LayerStash>(device) : nullptr;
  at::Tensor hidden = embed(batch.tokens.to(device));
  for (size_t i = 0; i < computed_.layers.size(); ++i) {
    const LayerWeights& layer = computed_.layers[i];
    hidden = again ? run_layer_again(pack, {weights_.layers[i], layer}, hidden, stash)
                   : run_layer(*pack, layer, hidden, {caches, static_cast<int64_t>(i)});
  }
  return rms_norm(hidden, weights_.final_norm.to(hidden.scalar_type()), config_.rms_eps);
}

/// With gradients in the trained embedding.
at::Tensor Transformer::embed(const at::Tensor& tokens) const {
  if (!at::GradMode::is_enabled()) return at::embedding(computed_.embed, tokens);
  return at::embedding(weights_.embed, tokens).to(computed_.embed.scalar_type());
}

at::Tensor Transformer::logits(const at::Tensor& hidden) const {
  return at::linear(hidden, computed_.head);
}

}  // namespace warpsmith::policy
