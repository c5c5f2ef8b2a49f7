// SPDX-License-Identifier: Apache-2.0
// One layer of the transformer: attention, then the feed-forward block, each added to its input.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "policy/model/attention.hpp"
#include "policy/model/layer_stash.hpp"

namespace warpsmith::policy {

/// x (T, H) → (T, H).
at::Tensor run_layer(const PackContext& pack, const LayerWeights& layer, const at::Tensor& x,
                     const LayerPast& past = {});

/// A layer's parameters as they are trained, and the copy that it computes with. The copy may have
/// a narrower type, and no gradients reach it.
struct LayerPair {
  const LayerWeights& trained;
  const LayerWeights& computed;
};

/// The same with gradients in x and the trained parameters, of their types. Keeps x and what
/// attention needs; the backward pass computes the rest again, the feed-forward block a part of the
/// rows at a time. With a stash, which all layers of a pass share, x and the output of attention
/// are in host memory between the two passes; the numbers are the same.
at::Tensor run_layer_again(const std::shared_ptr<const PackContext>& pack, const LayerPair& layer,
                           const at::Tensor& x, const std::shared_ptr<LayerStash>& stash = nullptr);

}  // namespace warpsmith::policy
