// SPDX-License-Identifier: Apache-2.0
// The gated feed-forward block (SwiGLU; Shazeer, arXiv 2002.05202, eq. 6).
#pragma once

#include <ATen/core/Tensor.h>

#include "policy/model/weights.hpp"

namespace warpsmith::policy {

/// x (T, H) → (T, F): silu(gate(x)) * up(x).
at::Tensor gated_units(const LayerWeights& layer, const at::Tensor& x);

/// x (T, H) → (T, H): down(gated_units(x)).
at::Tensor feed_forward(const LayerWeights& layer, const at::Tensor& x);

}  // namespace warpsmith::policy
