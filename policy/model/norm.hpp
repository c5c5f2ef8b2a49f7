// SPDX-License-Identifier: Apache-2.0
// RMS norm (Zhang and Sennrich, arXiv 1910.07467, eq. 4) over the last dimension.
#pragma once

#include <ATen/core/Tensor.h>

namespace warpsmith::policy {

/// x / sqrt(mean(x^2) + eps) * weight. Differentiable in both; computed in x's type, at least
/// float32.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

}  // namespace warpsmith::policy
