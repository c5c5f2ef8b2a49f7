// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/losses.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <optional>
#include <stdexcept>

namespace warpsmith::policy {
namespace {

using at::Tensor;

/// e^(a − b), clamped to e^±20: an infinite ratio would turn a zero gradient into NaN.
Tensor ratio_of(const Tensor& a, const Tensor& b) {
  return at::exp(at::clamp(a - b, -20.0, 20.0));
}

/// A surrogate loss (N), and where it was clipped (N, bool).
struct Surrogate {
  Tensor loss;
  Tensor clipped;
};

/// −min(u A, clip(u) A); with dual clip at most −dual_clip A where A < 0.
Surrogate clipped_surrogate(const LossConfig& c, const Tensor& ratio, const Tensor& a) {
  const Tensor plain = -ratio * a;
  const Tensor bounded = -at::clamp(ratio, 1 - c.clip_low, 1 + c.clip_high) * a;
  Tensor loss = at::maximum(plain, bounded);
  Tensor clipped = (ratio.gt(1 + c.clip_high) & a.gt(0)) | (ratio.lt(1 - c.clip_low) & a.lt(0));
  if (c.dual_clip > 0) {
    const Tensor beyond = a.lt(0) & ratio.gt(c.dual_clip);
    loss = at::where(beyond, -c.dual_clip * a, loss);
    clipped = clipped | beyond;
  }
  return {loss, clipped};
}

Surrogate decoupled(const LossConfig& c, const PolicyTokens& t) {
  const Tensor raw = ratio_of(t.proximal, t.behaviour);
  const Tensor beyond = raw.gt(c.weight_cap);
  const Tensor weight =
      c.mask_beyond_cap ? raw.masked_fill(beyond, 0) : at::clamp(raw, std::nullopt, c.weight_cap);
  Surrogate s = clipped_surrogate(c, ratio_of(t.log_prob, t.proximal), t.advantage);
  s.loss = weight * s.loss;
  if (c.mask_beyond_cap) s.clipped = s.clipped | beyond;
  return s;
}

/// −weight A log π; `weight` has no gradient.
Tensor weighted_likelihood(const Tensor& weight, const PolicyTokens& t) {
  return -weight * t.advantage * t.log_prob;
}

Surrogate two_sided_mask(const LossConfig& c, const PolicyTokens& t, const Tensor& ratio) {
  const Tensor outside = ratio.lt(c.mask_low) | ratio.gt(c.mask_high);
  return {weighted_likelihood(ratio.masked_fill(outside, 0), t), outside};
}

Surrogate dppo(const LossConfig& c, const PolicyTokens& t) {
  const Tensor ratio = ratio_of(t.log_prob, t.behaviour);
  const Tensor now = t.log_prob.detach();
  const Tensor far = (at::exp(now) - at::exp(t.behaviour)).abs().gt(c.shift);
  const Tensor away =
      (now.gt(t.behaviour) & t.advantage.gt(0)) | (now.lt(t.behaviour) & t.advantage.lt(0));
  const Tensor masked = far & away;
  return {at::where(masked, at::zeros_like(ratio), -ratio * t.advantage), masked};
}

Surrogate surrogate_of(const LossConfig& c, const PolicyTokens& t) {
  const Tensor frozen = ratio_of(t.log_prob.detach(), t.behaviour);
  switch (c.kind) {
    case LossKind::ppo:
      return clipped_surrogate(c, ratio_of(t.log_prob, t.behaviour), t.advantage);
    case LossKind::decoupled_ppo:
      return decoupled(c, t);
    case LossKind::two_sided_mask:
      return two_sided_mask(c, t, frozen);
    case LossKind::dppo:
      return dppo(c, t);
    case LossKind::tis:
      return {weighted_likelihood(at::clamp(frozen, std::nullopt, c.weight_cap), t),
              frozen.gt(c.weight_cap)};
    case LossKind::cispo:
      return {weighted_likelihood(at::clamp(frozen, 1 - c.clip_low, 1 + c.clip_high), t),
              frozen.lt(1 - c.clip_low) | frozen.gt(1 + c.clip_high)};
  }
  throw std::logic_error("policy loss: unknown kind");
}

/// (N) bool: true for the tokens of trajectories whose geometric mean of π/μ, over tokens with
/// m = 1, is outside [sequence_low, sequence_high].
Tensor sequence_filter(const LossConfig& c, const PolicyTokens& t) {
  if (c.sequence_high <= 0) return at::zeros_like(t.trainable, at::kBool);
  const Tensor log_ratio = (t.log_prob.detach() - t.behaviour) * t.trainable;
  const Tensor sums = at::bincount(t.trajectory, log_ratio);
  const Tensor counts = at::bincount(t.trajectory, t.trainable).clamp_min(1);
  const Tensor mean = at::exp(sums / counts);
  return (mean.lt(c.sequence_low) | mean.gt(c.sequence_high)).index_select(0, t.trajectory);
}

/// KL, entropy and likelihood terms (N); the sequence filter does not remove them.
Tensor regularisers(const LossConfig& c, const PolicyTokens& t) {
  Tensor sum = at::zeros_like(t.advantage);
  if (c.kl > 0) sum = sum + c.kl * kl_loss(c, t);
  if (c.entropy != 0) sum = sum - c.entropy * t.entropy;
  if (c.positive_nll > 0) sum = sum - c.positive_nll * t.positive * t.log_prob;
  return sum;
}

}  // namespace

PolicyLoss policy_loss(const LossConfig& config, const PolicyTokens& tokens) {
  const Surrogate surrogate = surrogate_of(config, tokens);
  const Tensor filtered = sequence_filter(config, tokens);
  const Tensor kept = at::where(filtered, at::zeros_like(surrogate.loss), surrogate.loss);
  const Tensor sum = kept + regularisers(config, tokens);
  const Tensor stale = tokens.trainable.eq(0);
  return {at::where(stale, at::zeros_like(sum), sum), (surrogate.clipped | filtered) & ~stale,
          filtered & ~stale};
}

at::Tensor kl_loss(const LossConfig& config, const PolicyTokens& tokens) {
  const Tensor weight = at::clamp(ratio_of(tokens.log_prob.detach(), tokens.behaviour),
                                  std::nullopt, config.weight_cap);
  return 0.5 * weight * (tokens.log_prob - tokens.reference).square();
}

at::Tensor value_loss(const at::Tensor& value, const at::Tensor& target, const at::Tensor& first,
                      double clip) {
  Tensor plain = 0.5 * (value - target).square();
  if (clip <= 0) return plain;
  const Tensor held = first + at::clamp(value - first, -clip, clip);
  return at::maximum(plain, 0.5 * (held - target).square());
}

double overlong_penalty(int64_t tokens, const OverlongConfig& config) {
  const int64_t start = config.limit - config.margin;
  if (config.limit <= 0 || tokens <= start) return 0;
  if (tokens >= config.limit) return -1;
  return static_cast<double>(start - tokens) / static_cast<double>(config.margin);
}

}  // namespace warpsmith::policy
