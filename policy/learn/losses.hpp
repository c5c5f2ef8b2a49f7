// SPDX-License-Identifier: Apache-2.0
// Policy and value losses, one number per action token. Notation: μ is the policy that sampled the
// token, π_p the proximal policy, π the current one; u and ρ are ratios; sg stops the gradient.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "runtime/config/learner_config.hpp"

namespace warpsmith::policy {

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
  at::Tensor per_token;  // (N) with gradient, 0 where m = 0; not yet weighted or summed
  at::Tensor clipped;    // (N) bool: a clip, cap, mask or the sequence filter changed the loss
  at::Tensor filtered;   // (N) bool: the sequence filter did
};

/// Per token with advantage A, before the filter and the regularisers of `config`:
/// - ppo: −min(u A, clip(u) A), u = π/μ (arXiv 1707.06347, eq. 7)
/// - decoupled_ppo: −sg(π_p/μ) min(u A, clip(u) A), u = π/π_p (AReaL, arXiv 2505.24298)
/// - two_sided_mask: −sg(ρ) A log π where mask_low ≤ ρ ≤ mask_high, else 0; ρ = π/μ (IcePop)
/// - dppo: −ρ A; 0 where |π − μ| > shift and A would increase it (arXiv 2602.04879)
/// - tis: −sg(min(ρ, weight_cap)) A log π
/// - cispo: −sg(clip(ρ)) A log π (MiniMax-M1, arXiv 2506.13585)
/// clip bounds a ratio to [1 − clip_low, 1 + clip_high]. Dual clip: arXiv 1912.09729.
PolicyLoss policy_loss(const LossConfig& config, const PolicyTokens& tokens);

/// sg(min(π/μ, weight_cap)) ½ (log π − log π_ref)², (N). Its mean gradient over tokens sampled by μ
/// is that of KL(π ‖ π_ref), as long as no weight is capped; its value is not the KL. (The gradient
/// of the better-known k3 = e^d − d − 1, d = log π_ref − log π, is that of KL(π_ref ‖ π).)
at::Tensor kl_loss(const LossConfig& config, const PolicyTokens& tokens);

/// ½ (V − target)², (N). With `clip` > 0 the larger of that and the same with V clipped to `first`
/// ± clip, `first` being the value's first prediction.
at::Tensor value_loss(const at::Tensor& value, const at::Tensor& target, const at::Tensor& first,
                      double clip);

/// Soft overlong penalty in [−1, 0] (DAPO, arXiv 2503.14476, eq. 13): 0 up to limit − margin
/// tokens, then linear, −1 from the limit on. A limit of 0 turns it off.
double overlong_penalty(int64_t tokens, const OverlongConfig& config);

}  // namespace warpsmith::policy
