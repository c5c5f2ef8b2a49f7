// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding (Su et al., 2021) in the half-split layout of Llama and Qwen.
#pragma once

#include <ATen/core/Tensor.h>

#include "policy/model/config.hpp"

namespace warpsmith::policy {

/// Angles per position of each pair of dimensions, after scaling: (head_dim / 2) float32. Computed
/// in float32 as `transformers` does, so that long positions round alike.
at::Tensor rope_frequencies(const ModelConfig& config);

/// Cosines and sines of T positions, each (T, 1, head_dim / 2): broadcast over heads.
struct RopeAngles {
  at::Tensor cos;
  at::Tensor sin;
};

/// `positions` (T) int64, `frequencies` from above; rounded to float32, then cast to `dtype`.
RopeAngles rope_angles(const at::Tensor& frequencies, const at::Tensor& positions,
                       at::ScalarType dtype);

/// Rotates x (T, n, head_dim): pair i is (x[i], x[i + head_dim / 2]).
at::Tensor rotate(const at::Tensor& x, const RopeAngles& angles);

}  // namespace warpsmith::policy
