// SPDX-License-Identifier: Apache-2.0
#include "policy/model/rope.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
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

/// The dimension pair that turns `rotations` times over the trained context.
double pair_of(double rotations, const ModelConfig& c) {
  const auto context = static_cast<double>(c.rope.original_max_positions);
  return static_cast<double>(c.head_dim) * std::log(context / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(c.rope_theta));
}

/// YaRN: keeps frequencies that turn at least `beta_fast` times over the trained context, divides
/// those that turn at most `beta_slow` times, and interpolates between by dimension.
at::Tensor scale_yarn(const at::Tensor& frequencies, const ModelConfig& c) {
  double low = pair_of(c.rope.beta_fast, c);
  double high = pair_of(c.rope.beta_slow, c);
  if (c.rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(c.head_dim - 1));
  if (low == high) high += 0.001;
  const at::Tensor ramp =
      ((at::arange(c.head_dim / 2, at::kFloat) - low) / (high - low)).clamp(0, 1);
  return frequencies / c.rope.factor * ramp + frequencies * (1 - ramp);
}

}  // namespace

double rope_magnitude(const ModelConfig& config) {
  const RopeScaling& r = config.rope;
  if (r.kind != RopeScalingKind::yarn) return 1;
  if (r.attention_factor > 0) return r.attention_factor;
  return r.factor <= 1 ? 1 : 0.1 * std::log(r.factor) + 1;
}

at::Tensor rope_frequencies(const ModelConfig& config) {
  const auto dim = static_cast<double>(config.head_dim);
  const at::Tensor exponents = at::arange(0, config.head_dim, 2, at::kFloat) / dim;
  at::Tensor frequencies = at::pow(config.rope_theta, exponents).reciprocal();
  switch (config.rope.kind) {
    case RopeScalingKind::none:
      return frequencies;
    case RopeScalingKind::linear:
      return frequencies / config.rope.factor;
    case RopeScalingKind::llama3:
      return scale_llama3(frequencies, config.rope);
    case RopeScalingKind::yarn:
      return scale_yarn(frequencies, config);
  }
  return frequencies;
}

RopeAngles rope_angles(const at::Tensor& frequencies, const at::Tensor& positions,
                       at::ScalarType dtype, double magnitude) {
  const at::Tensor angles =
      positions.to(at::kFloat).view({-1, 1, 1}) * frequencies.view({1, 1, -1});
  if (magnitude == 1) return {angles.cos().to(dtype), angles.sin().to(dtype)};
  return {(angles.cos() * magnitude).to(dtype), (angles.sin() * magnitude).to(dtype)};
}

at::Tensor rotate(const at::Tensor& x, const RopeAngles& angles) {
  const std::vector<at::Tensor> halves = x.chunk(2, -1);
  const at::Tensor& low = halves[0];
  const at::Tensor& high = halves[1];
  return at::cat({low * angles.cos - high * angles.sin, high * angles.cos + low * angles.sin}, -1);
}

}  // namespace warpsmith::policy
