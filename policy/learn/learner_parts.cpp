// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/learner_parts.hpp"

namespace warpsmith::policy {

PolicyLossConfig policy_loss_config(const LearnerConfig& c) {
  return {.kind = c.loss,
          .clip_low = c.clip_low,
          .clip_high = c.clip_high,
          .dual_clip = c.dual_clip,
          .weight_cap = c.weight_cap,
          .mask_beyond_cap = c.mask_beyond_cap,
          .band_low = c.mask_low,
          .band_high = c.mask_high,
          .shift = c.shift,
          .sequence_low = c.sequence_low,
          .sequence_high = c.sequence_high,
          .kl = c.kl,
          .entropy = c.entropy,
          .positive_nll = c.positive_nll};
}

AdvantageConfig advantage_config(const LearnerConfig& c) {
  return {.gamma = c.gamma,
          .lambda = c.lambda,
          .length_adaptive = c.lambda_alpha > 0,
          .alpha = c.lambda_alpha};
}

AdamWConfig adamw_config(const LearnerConfig& c) {
  return {.beta1 = c.beta1,
          .beta2 = c.beta2,
          .epsilon = c.epsilon,
          .weight_decay = c.weight_decay,
          .gradient_clip = c.gradient_clip};
}

StepBudget step_budget(const LearnerConfig& c) {
  return {.trajectories = c.step_trajectories,
          .tokens = c.step_tokens,
          .minibatches = c.minibatches,
          .epochs = c.epochs};
}

}  // namespace warpsmith::policy
