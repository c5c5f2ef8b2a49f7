// SPDX-License-Identifier: Apache-2.0
// Causal grouped-query attention over packed sequences of different lengths.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>

#include "policy/model/rope.hpp"
#include "policy/model/sequence_cache.hpp"
#include "policy/model/weights.hpp"

namespace warpsmith::policy {

/// Where each sequence lies among the packed rows, and its past if it has one.
struct SequenceLayout {
  std::span<const int64_t> lengths;        // new tokens of each sequence, in order
  std::span<SequenceCache* const> caches;  // empty, or one per sequence
};

/// What all blocks of one forward share.
struct AttentionContext {
  const ModelConfig& config;
  const RopeAngles& angles;
  const SequenceLayout& layout;
};

/// x (T, H), already normalised → (T, H). Appends to the caches of block `index`.
at::Tensor attend(const AttentionContext& context, const LayerWeights& layer, int64_t index,
                  const at::Tensor& x);

}  // namespace warpsmith::policy
