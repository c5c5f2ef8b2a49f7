// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding (RoPE; Su et al., arXiv 2104.09864, eq. 34) in the half-split layout of
// Llama and Qwen.
#pragma once

#include <ATen/core/Tensor.h>

#include "policy/model/config.hpp"

namespace warpsmith::policy {

/// The angle per position of each pair of dimensions, after scaling: (head_dim / 2) float32.
/// Computed in float32 as in `transformers`, so that long positions are rounded alike.
at::Tensor rope_frequencies(const ModelConfig& config);

/// The length of the vectors (cos, sin): 1 except for YaRN, which sharpens attention with it.
double rope_magnitude(const ModelConfig& config);

/// Cosines and sines of T positions, (T, 1, head_dim / 2) each; broadcast over heads.
struct RopeAngles {
  at::Tensor cos;
  at::Tensor sin;
};

/// `positions` (T) int64. Rounds angles to float32, multiplies cosines and sines by `magnitude`,
/// then converts to `dtype`.
RopeAngles rope_angles(const at::Tensor& frequencies, const at::Tensor& positions,
                       at::ScalarType dtype, double magnitude);

/// Rotates x (T, n, head_dim): pair i is (x[i], x[i + head_dim / 2]).
at::Tensor rotate(const at::Tensor& x, const RopeAngles& angles);

}  // namespace warpsmith::policy
