// SPDX-License-Identifier: Apache-2.0
#include "policy/model/rope.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/where.h>

#include <numbers>

namespace warpsmith::policy {
namespace {

/// Llama 3.1: divides frequencies whose wavelength exceeds the trained context by `factor`, keeps
/// high ones, and interpolates between linearly in (context / wavelength).
at::Tensor scale_llama3(const at::Tensor& frequencies, const RopeScaling& r) {
  const auto context = static_cast<double>(r.original_max_positions);
  const at::Tensor wavelength = 2.0 * std::numbers::pi / frequencies;
  const at::Tensor stretched = frequencies / r.factor;
  const at::Tensor smooth =
      (context / wavelength - r.low_freq_factor) / (r.high_freq_factor - r.low_freq_factor);
  const at::Tensor blended = (1 - smooth) * stretched + smooth * frequencies;
  const at::Tensor is_long = wavelength > context / r.low_freq_factor;
  const at::Tensor is_short = wavelength < context / r.high_freq_factor;
  return at::where(is_long, stretched, at::where(is_short, frequencies, blended));
}

}  // namespace

at::Tensor rope_frequencies(const ModelConfig& config) {
  const auto dim = static_cast<double>(config.head_dim);
  const at::Tensor exponents = at::arange(0, config.head_dim, 2, at::kFloat) / dim;
  const at::Tensor frequencies = at::pow(config.rope_theta, exponents).reciprocal();
  switch (config.rope.kind) {
    case RopeScalingKind::none:
      return frequencies;
    case RopeScalingKind::linear:
      return frequencies / config.rope.factor;
    case RopeScalingKind::llama3:
      return scale_llama3(frequencies, config.rope);
  }
  return frequencies;
}

RopeAngles rope_angles(const at::Tensor& frequencies, const at::Tensor& positions,
                       at::ScalarType dtype) {
  const at::Tensor angles =
      positions.to(at::kFloat).view({-1, 1, 1}) * frequencies.view({1, 1, -1});
  return {angles.cos().to(dtype), angles.sin().to(dtype)};
}

at::Tensor rotate(const at::Tensor& x, const RopeAngles& angles) {
  const int64_t half = x.size(-1) / 2;
  const at::Tensor low = x.narrow(-1, 0, half);
  const at::Tensor high = x.narrow(-1, half, half);
  return at::cat({low * angles.cos - high * angles.sin, high * angles.cos + low * angles.sin}, -1);
}

}  // namespace warpsmith::policy
