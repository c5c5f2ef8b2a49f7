// SPDX-License-Identifier: Apache-2.0
// The gated feed-forward block (SwiGLU; Shazeer, 2020).
#pragma once

#include <ATen/core/Tensor.h>

#include "policy/model/weights.hpp"

namespace warpsmith::policy {

/// x (T, H) → (T, H): down(silu(gate(x)) * up(x)).
at::Tensor feed_forward(const LayerWeights& layer, const at::Tensor& x);

}  // namespace warpsmith::policy
