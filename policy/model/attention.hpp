// SPDX-License-Identifier: Apache-2.0
// Causal grouped-query attention over packed sequences of different lengths.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>

#include "policy/model/rope.hpp"
#include "policy/model/sequence_cache.hpp"
#include "policy/model/weights.hpp"

namespace warpsmith::policy {

/// The lengths of the packed sequences, and their caches if they have a past.
struct SequenceLayout {
  std::span<const int64_t> lengths;        // new tokens of each sequence, in order
  std::span<SequenceCache* const> caches;  // empty, or one per sequence
};

/// The arguments that all layers of one forward pass share.
struct AttentionContext {
  const ModelConfig& config;
  const RopeAngles& angles;
  const SequenceLayout& layout;
};

/// x (T, H), normalised → (T, H). Appends keys and values to layer `index` of the caches.
at::Tensor attend(const AttentionContext& context, const LayerWeights& layer, int64_t index,
                  const at::Tensor& x);

}  // namespace warpsmith::policy
