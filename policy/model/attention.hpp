// SPDX-License-Identifier: Apache-2.0
// Causal grouped-query attention over packed sequences of different lengths.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>

#include "policy/model/fused_attention.hpp"
#include "policy/model/pack_context.hpp"
#include "policy/model/sequence_cache.hpp"
#include "policy/model/weights.hpp"

namespace warpsmith::policy {

/// The pasts of a pack's sequences in one layer.
struct LayerPast {
  std::span<SequenceCache* const> caches;  // empty, or one per sequence
  int64_t layer = 0;
};

/// x (T, H), normalised → (T, H). Appends keys and values to the caches of `past`.
at::Tensor attend(const PackContext& pack, const LayerWeights& layer, const at::Tensor& x,
                  const LayerPast& past = {});

/// The same without a past, in two passes over the same values. The first, without gradients, fills
/// `kept` if fused kernels compute it; the second, with gradients, takes the output from there.
at::Tensor attend_and_keep(const PackContext& pack, const LayerWeights& layer, const at::Tensor& x,
                           KeptAttention& kept);
at::Tensor attend_again(const PackContext& pack, const LayerWeights& layer, const at::Tensor& x,
                        const KeptAttention& kept);

}  // namespace warpsmith::policy
