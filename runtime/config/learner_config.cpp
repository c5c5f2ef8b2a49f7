// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/learner_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace warpsmith {
namespace {

constexpr std::array<std::string_view, 6> loss_names{"ppo",  "decoupled_ppo", "two_sided_mask",
                                                     "dppo", "tis",           "cispo"};
constexpr std::array<std::string_view, 2> aggregation_names{"token_mean", "trajectory_mean"};
constexpr std::array<std::string_view, 2> forward_names{"streamed", "at_use"};
constexpr std::array<std::string_view, 2> offload_names{"kept_prefixes", "layer_inputs"};
constexpr std::array<std::string_view, 2> critic_names{"separate", "shared"};

constexpr std::array<std::string_view, 4> lora_targets{"qkv", "out", "gate_up", "down"};

constexpr RealRange weight{.low = 0, .high = 1000};
constexpr RealRange share{.low = 0, .high = 1};
constexpr RealRange rate{.low = 0, .high = 1, .above_low = true};

void describe_step(Fields& fields, StepConfig& c) {
  fields.integer("trajectories", c.trajectories, {.low = 1, .high = 1 << 20});
  fields.integer("tokens", c.tokens, {.low = 1, .high = int64_t{1} << 36});
  fields.integer("minibatches", c.minibatches, {.low = 1, .high = 1024});
  fields.integer("epochs", c.epochs, {.low = 1, .high = 100});
}

void describe_loss(Fields& fields, LossConfig& c) {
  fields.choice_of("kind", c.kind, loss_names);
  fields.choice_of("aggregation", c.aggregation, aggregation_names);
  fields.real("clip_low", c.clip_low, {.low = 0, .high = 1, .above_low = true});
  fields.real("clip_high", c.clip_high, {.low = 0, .high = 100, .above_low = true});
  fields.real("dual_clip", c.dual_clip, weight);
  fields.real("weight_cap", c.weight_cap, {.low = 1, .high = 1e6});
  fields.flag("mask_beyond_cap", c.mask_beyond_cap);
  fields.real("mask_low", c.mask_low, share);
  fields.real("mask_high", c.mask_high, {.low = 1, .high = 1e6});
  fields.real("shift", c.shift, share);
  fields.real("sequence_low", c.sequence_low, share);
  fields.real("sequence_high", c.sequence_high, {.low = 0, .high = 1e6});
  fields.real("kl", c.kl, weight);
  fields.real("entropy", c.entropy, weight);
  fields.real("positive_nll", c.positive_nll, weight);
}

void describe_advantage(Fields& fields, AdvantageConfig& c) {
  fields.real("gamma", c.gamma, {.low = 0, .high = 1, .above_low = true});
  fields.real("lambda", c.lambda, share);
  fields.real("lambda_alpha", c.lambda_alpha, weight);
  fields.flag("running_scale", c.running_scale);
}

void describe_overlong(Fields& fields, OverlongConfig& c) {
  fields.integer("limit", c.limit, {.low = 0, .high = 1 << 30});
  fields.integer("margin", c.margin, {.low = 0, .high = 1 << 30});
}

void describe_critic(Fields& fields, CriticConfig& c) {
  fields.choice_of("kind", c.kind, critic_names);
  fields.path("folder", c.folder);
  fields.flag("stop_gradient", c.stop_gradient);
  fields.real("value_weight", c.value_weight, weight);
  fields.real("value_clip", c.value_clip, weight);
  fields.integer("value_warmup", c.value_warmup, {.low = 0, .high = 1 << 20});
  fields.flag("prompt_baseline", c.prompt_baseline);
  fields.flag("surprise", c.surprise);
}

void describe_optimizer(Fields& fields, OptimizerConfig& c) {
  fields.real("learning_rate", c.learning_rate, rate);
  fields.real("critic_learning_rate", c.critic_learning_rate, rate);
  fields.integer("warmup", c.warmup, {.low = 0, .high = 1 << 20});
  fields.real("beta1", c.beta1, share);
  fields.real("beta2", c.beta2, share);
  fields.real("epsilon", c.epsilon, rate);
  fields.real("weight_decay", c.weight_decay, share);
  fields.real("gradient_clip", c.gradient_clip, {.low = 0, .high = 1e6, .above_low = true});
}

void describe_lora(Fields& fields, LoraConfig& c) {
  fields.integer("rank", c.rank, {.low = 0, .high = 4096});
  fields.real("alpha", c.alpha, {.low = 0, .high = 1e6, .above_low = true});
  fields.texts("targets", c.targets, lora_targets);
}

void describe_warnings(Fields& fields, WarningsConfig& c) {
  fields.real("entropy_change", c.entropy_change, weight);
  fields.real("explained_variance", c.explained_variance, {.low = -1000, .high = 1});
  fields.real("truncated", c.truncated, share);
  fields.real("ratio", c.ratio, {.low = 0, .high = 1e6});
  fields.integer("patience", c.patience, {.low = 1, .high = 1000});
  fields.flag("pause", c.pause);
}

void validate_loss(const LossConfig& c, Complaints& complaints) {
  complaints.require(c.clip_low < 1, "learner.loss.clip_low",
                     "expected less than 1: 1 - clip_low is a ratio");
  complaints.require(c.sequence_high == 0 || c.sequence_high >= 1, "learner.loss.sequence_high",
                     "expected 0 (off) or at least 1");
  complaints.require(c.dual_clip == 0 || c.dual_clip > 1, "learner.loss.dual_clip",
                     "expected 0 (off) or more than 1");
}

void validate_lora(const LoraConfig& c, Complaints& complaints) {
  complaints.require(c.rank > 0 || c == LoraConfig{}, "learner.lora.rank",
                     "expected at least 1 with learner.lora.alpha or targets, got 0 (off)");
  complaints.require(!c.targets.empty(), "learner.lora.targets",
                     "expected at least one of \"qkv\", \"out\", \"gate_up\", \"down\"");
}

}  // namespace

void describe(Fields& fields, LearnerConfig& c) {
  fields.choice_of("device", c.device, device_names);
  fields.integer("gpu", c.gpu, {.low = 0, .high = 63});
  fields.integer("gpus", c.gpus, {.low = 1, .high = 64});
  fields.choice_of("precision", c.precision, precision_names);
  fields.integer("threads", c.threads, {.low = 1, .high = 1024});
  fields.integer("max_lag", c.max_lag, {.low = 0, .high = 1024});
  fields.bytes("max_held", c.max_held_bytes, {.low = 1 << 20});
  fields.texts("offload", c.offload, offload_names);
  fields.bytes("max_offloaded", c.max_offloaded_bytes, {.low = 0});
  fields.integer("pack_tokens", c.pack_tokens, {.low = 1, .high = 1 << 24});
  fields.choice_of("forwards", c.forwards, forward_names);
  fields.flag("refresh_prefix", c.refresh_prefix);
  fields.duration("rank_timeout", c.rank_timeout, {.low = std::chrono::seconds{1}});
  fields.integer("max_skipped", c.max_skipped, {.low = 1, .high = 1000});
  fields.table("step", [&c](Fields& table) { describe_step(table, c.step); });
  fields.table("loss", [&c](Fields& table) { describe_loss(table, c.loss); });
  fields.table("advantage", [&c](Fields& table) { describe_advantage(table, c.advantage); });
  fields.table("overlong", [&c](Fields& table) { describe_overlong(table, c.overlong); });
  fields.table("critic", [&c](Fields& table) { describe_critic(table, c.critic); });
  fields.table("lora", [&c](Fields& table) { describe_lora(table, c.lora); });
  fields.table("optimizer", [&c](Fields& table) { describe_optimizer(table, c.optimizer); });
  fields.table("warnings", [&c](Fields& table) { describe_warnings(table, c.warnings); });
}

bool LearnerConfig::offloads(Offload what) const {
  return std::ranges::find(offload, offload_names[static_cast<size_t>(what)]) != offload.end();
}

void validate(const LearnerConfig& c, Complaints& complaints) {
  complaints.require(c.offload.empty() || c.device == ComputeDevice::cuda, "learner.offload",
                     "expected [] with learner.device = \"cpu\": its tensors are in host memory");
  complaints.require(!c.offloads(Offload::kept_prefixes) || c.forwards == ForwardMode::streamed,
                     "learner.offload",
                     "\"kept_prefixes\" needs learner.forwards = \"streamed\": \"at_use\" keeps "
                     "none");
  complaints.require(c.step.minibatches <= c.step.trajectories, "learner.step.minibatches",
                     fmt::format("expected at most learner.step.trajectories ({}), got {}",
                                 c.step.trajectories, c.step.minibatches));
  complaints.require(
      c.gpus == 1 || c.forwards == ForwardMode::at_use, "learner.forwards",
      "expected \"at_use\" with learner.gpus > 1, got \"streamed\": a kept prefix is on "
      "one rank only");
  validate_loss(c.loss, complaints);
  validate_lora(c.lora, complaints);
  // Compares values, because a resume reads the effective configuration, which sets every key.
  complaints.require(
      c.advantage.lambda_alpha == 0 || c.advantage.lambda == AdvantageConfig{}.lambda,
      "learner.advantage.lambda", "learner.advantage.lambda_alpha replaces it: set one of the two");
  complaints.require(c.overlong.margin <= c.overlong.limit, "learner.overlong.margin",
                     "expected at most learner.overlong.limit");
  complaints.require(c.critic.kind == CriticKind::shared || !c.critic.stop_gradient,
                     "learner.critic.stop_gradient",
                     "expected false unless learner.critic.kind = \"shared\"");
  complaints.require(c.optimizer.beta1 < 1 && c.optimizer.beta2 < 1, "learner.optimizer.beta2",
                     "expected beta1 and beta2 less than 1");
}

}  // namespace warpsmith
