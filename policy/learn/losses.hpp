// SPDX-License-Identifier: Apache-2.0
// Policy and value losses, one number per action token. Notation of the design: μ sampled the
// token, π_p is the proximal policy, π the current one; u and ρ are ratios; sg stops the gradient.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "runtime/config/learner_config.hpp"

namespace warpsmith::policy {

/// What the kinds compute, per token with advantage A:
/// - ppo: −min(u A, clip(u) A), u = π/μ
/// - decoupled_ppo: −sg(π_p/μ) min(u A, clip(u) A), u = π/π_p (AReaL, arXiv 2505.24298)
/// - two_sided_mask: −sg(ρ) A log π where band_low ≤ ρ ≤ band_high, else 0; ρ = π/μ (IcePop)
/// - dppo: −ρ A; 0 where π left μ by more than `shift` and A pushes on (arXiv 2602.04879)
/// - tis: −sg(min(ρ, weight_cap)) A log π
/// - cispo: −sg(clip(ρ, 1 − clip_low, 1 + clip_high)) A log π (MiniMax-M1, arXiv 2506.13585)
struct PolicyLossConfig {
  LossKind kind = LossKind::decoupled_ppo;
  double clip_low = 0.2;
  double clip_high = 0.28;
  double dual_clip = 0;          // bound of −A·u for A < 0, > 1; 0: off (arXiv 1912.09729)
  double weight_cap = 5;         // greatest sg(π_p/μ), and of TIS
  bool mask_beyond_cap = false;  // decoupled: a weight above the cap counts 0 instead of the cap
  double band_low = 0.5;         // two_sided_mask
  double band_high = 5.0;
  double shift = 0.2;        // dppo: greatest |π − μ|
  double sequence_low = 0;   // geometric mean of π/μ over a trajectory must lie within
  double sequence_high = 0;  // [low, high], or all its tokens count 0; high = 0: off
  double kl = 0;             // coefficient of k3(π ‖ reference)
  double entropy = 0;        // coefficient of the entropy bonus
  double positive_nll = 0;   // coefficient of −log π on trajectories with a positive reward
};

/// N action tokens of whole trajectories. All (N) and of one dtype, `log_prob` and `entropy` with
/// gradient. `trajectory` is int64, 0-based, for the sequence filter.
struct PolicyTokens {
  at::Tensor log_prob;    // log π
  at::Tensor entropy;     // of π's whole distribution, nats
  at::Tensor behaviour;   // log μ
  at::Tensor proximal;    // log π_p
  at::Tensor advantage;   // A
  at::Tensor trainable;   // m: 1, or 0 where the token is too old to be trained
  at::Tensor positive;    // 1 where the trajectory's reward is positive
  at::Tensor reference;   // log π_ref; undefined when kl = 0
  at::Tensor trajectory;  // (N) int64
};

struct PolicyLoss {
  at::Tensor per_token;  // (N) with gradient, 0 where m = 0; the caller weighs and sums
  at::Tensor clipped;    // (N) bool: a clip, cap, mask or the filter acted on the token
  at::Tensor filtered;   // (N) bool: of those, by the sequence filter
};

PolicyLoss policy_loss(const PolicyLossConfig& config, const PolicyTokens& tokens);

/// k3 estimate of KL(π ‖ q) from tokens sampled by π: e^d − d − 1 with d = log q − log π. Never
/// negative.
at::Tensor k3(const at::Tensor& log_prob, const at::Tensor& log_other);

/// ½ (V − target)², (N). With `clip` > 0 the greater of it and the same with V held within ± clip
/// of the value that was predicted at first.
at::Tensor value_loss(const at::Tensor& value, const at::Tensor& target, const at::Tensor& first,
                      double clip);

/// Soft penalty for length (DAPO, arXiv 2503.14476, eq. 13), in [−1, 0]: 0 up to limit − margin
/// tokens, then linear, −1 from the limit on. A limit of 0 turns it off.
double overlong_penalty(int64_t tokens, int64_t limit, int64_t margin);

}  // namespace warpsmith::policy
