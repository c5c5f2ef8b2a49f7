// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/learner_config.hpp"

#include <array>

namespace warpsmith {
namespace {

constexpr std::array<std::string_view, 6> loss_names{"ppo",  "decoupled_ppo", "two_sided_mask",
                                                     "dppo", "tis",           "cispo"};
constexpr std::array<std::string_view, 2> aggregation_names{"token_mean", "trajectory_mean"};
constexpr std::array<std::string_view, 2> forward_names{"streamed", "at_use"};
constexpr std::array<std::string_view, 2> critic_names{"separate", "shared"};

constexpr RealRange weight{.low = 0, .high = 1000};
constexpr RealRange share{.low = 0, .high = 1};
constexpr RealRange rate{.low = 0, .high = 1, .above_low = true};

void describe_budget(Fields& fields, LearnerConfig& c) {
  fields.integer("threads", c.threads, {.low = 1, .high = 1024});
  fields.integer("step_trajectories", c.step_trajectories, {.low = 1, .high = 1 << 20});
  fields.integer("step_tokens", c.step_tokens, {.low = 1, .high = int64_t{1} << 36});
  fields.integer("epochs", c.epochs, {.low = 1, .high = 100});
  fields.integer("minibatches", c.minibatches, {.low = 1, .high = 1024});
  fields.integer("max_lag", c.max_lag, {.low = 0, .high = 1024});
  fields.integer("pack_tokens", c.pack_tokens, {.low = 1, .high = 1 << 24});
  fields.choice_of("forwards", c.forwards, forward_names);
  fields.flag("refresh_prefix", c.refresh_prefix);
  fields.bytes("max_held", c.max_held_bytes, {.low = 1 << 20});
}

void describe_loss(Fields& fields, LearnerConfig& c) {
  fields.choice_of("loss", c.loss, loss_names);
  fields.choice_of("aggregation", c.aggregation, aggregation_names);
  fields.real("clip_low", c.clip_low, {.low = 0, .high = 1, .above_low = true});
  fields.real("clip_high", c.clip_high, {.low = 0, .high = 100, .above_low = true});
  fields.real("weight_cap", c.weight_cap, {.low = 1, .high = 1e6});
  fields.flag("mask_beyond_cap", c.mask_beyond_cap);
  fields.real("shift", c.shift, share);
  fields.real("sequence_low", c.sequence_low, share);
  fields.real("sequence_high", c.sequence_high, {.low = 0, .high = 1e6});
  fields.real("mask_low", c.mask_low, share);
  fields.real("mask_high", c.mask_high, {.low = 1, .high = 1e6});
  fields.real("dual_clip", c.dual_clip, weight);
  fields.real("kl", c.kl, weight);
  fields.real("entropy", c.entropy, weight);
  fields.real("positive_nll", c.positive_nll, weight);
}

void describe_advantage(Fields& fields, LearnerConfig& c) {
  fields.real("gamma", c.gamma, {.low = 0, .high = 1, .above_low = true});
  fields.real("lambda", c.lambda, share);
  fields.real("lambda_alpha", c.lambda_alpha, weight);
  fields.flag("running_advantage_scale", c.running_advantage_scale);
  fields.integer("overlong_limit", c.overlong_limit, {.low = 0, .high = 1 << 30});
  fields.integer("overlong_margin", c.overlong_margin, {.low = 0, .high = 1 << 30});
  fields.choice_of("critic", c.critic, critic_names);
  fields.flag("critic_stop_gradient", c.critic_stop_gradient);
  fields.real("value_weight", c.value_weight, weight);
  fields.flag("prompt_baseline", c.prompt_baseline);
  fields.real("value_clip", c.value_clip, weight);
  fields.integer("value_warmup", c.value_warmup, {.low = 0, .high = 1 << 20});
}

void describe_optimizer(Fields& fields, LearnerConfig& c) {
  fields.real("learning_rate", c.learning_rate, rate);
  fields.real("critic_learning_rate", c.critic_learning_rate, rate);
  fields.integer("warmup", c.warmup, {.low = 0, .high = 1 << 20});
  fields.real("beta1", c.beta1, share);
  fields.real("beta2", c.beta2, share);
  fields.real("epsilon", c.epsilon, rate);
  fields.real("weight_decay", c.weight_decay, share);
  fields.real("gradient_clip", c.gradient_clip, {.low = 0, .high = 1e6, .above_low = true});
}

}  // namespace

void describe(Fields& fields, LearnerConfig& c) {
  describe_budget(fields, c);
  describe_loss(fields, c);
  describe_advantage(fields, c);
  describe_optimizer(fields, c);
}

void validate(const LearnerConfig& c, Complaints& complaints) {
  complaints.require(c.clip_low < 1, "learner.clip_low",
                     "expected less than 1: 1 - clip is a ratio");
  complaints.require(c.minibatches <= c.step_trajectories, "learner.minibatches",
                     "expected at most learner.step_trajectories (" +
                         std::to_string(c.step_trajectories) + "), got " +
                         std::to_string(c.minibatches));
  complaints.require(c.sequence_high == 0 || c.sequence_high >= 1, "learner.sequence_high",
                     "expected 0 (off) or at least 1");
  complaints.require(c.overlong_margin <= c.overlong_limit, "learner.overlong_margin",
                     "expected at most learner.overlong_limit");
  complaints.require(c.dual_clip == 0 || c.dual_clip > 1, "learner.dual_clip",
                     "expected 0 (off) or more than 1");
  // By value: an effective configuration, which a resume reads, writes every key.
  complaints.require(c.lambda_alpha == 0 || c.lambda == LearnerConfig{}.lambda, "learner.lambda",
                     "learner.lambda_alpha replaces it: set one of the two");
  complaints.require(c.critic == CriticKind::shared || !c.critic_stop_gradient,
                     "learner.critic_stop_gradient", "has a meaning for critic = \"shared\" only");
  complaints.require(c.beta1 < 1 && c.beta2 < 1, "learner.beta2",
                     "expected beta1 and beta2 less than 1");
}

}  // namespace warpsmith
