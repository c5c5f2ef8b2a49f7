// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/actor_critic.hpp"

#include <ATen/core/grad_mode.h>

#include <utility>

#include "policy/learn/critic_head.hpp"
#include "policy/model/log_probs.hpp"

namespace warpsmith::policy {
namespace {

ActionPack plan_of(std::span<const HeldTrajectory* const> pack) {
  std::vector<MaskedTokens> sequences;
  for (const HeldTrajectory* held : pack) sequences.push_back({held->tokens, held->mask});
  return plan_actions(sequences);
}

/// The options of `x` with a type of at least float32.
at::TensorOptions wide_options(const at::Tensor& x) {
  return x.options().dtype(x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
}

std::optional<Transformer> critic_of(const Transformer& actor, CriticKind kind) {
  if (kind == CriticKind::shared) return std::nullopt;
  const ModelWeights weights = actor.weights().clone();
  return Transformer{actor.config(), weights.converted(wide_options(weights.embed)),
                     actor.compute()};
}

at::Tensor hidden_rows(const Transformer& body, const ActionPack& plan, bool with_gradient) {
  const at::AutoGradMode mode{with_gradient && at::GradMode::is_enabled()};
  const at::Tensor hidden = body.forward(plan.batch);
  return hidden.index_select(0, plan.rows.to(hidden.device()));
}

}  // namespace

std::vector<ParameterGroup> parameter_groups(const ActorCritic& networks) {
  const auto& lora = networks.lora();
  ParameterGroup policy{"policy",
                        lora ? lora->parameters() : networks.actor().weights().parameters()};
  ParameterGroup critic{"critic", networks.value_head().parameters()};
  if (networks.has_own_critic_body()) {
    for (auto& entry : networks.critic_body().weights().parameters()) {
      critic.parameters.push_back(std::move(entry));
    }
  }
  return {std::move(policy), std::move(critic)};
}

ActorCritic::ActorCritic(Transformer actor, const CriticConfig& critic, double temperature)
    : actor_(std::move(actor)),
      critic_(critic_of(actor_, critic.kind)),
      head_(make_value_head(head_width(actor_.config(), critic),
                            wide_options(actor_.weights().embed))),
      stop_gradient_(critic.stop_gradient),
      surprise_(critic.surprise),
      temperature_(temperature) {
  require_grad();
}

ActorCritic::ActorCritic(Transformer actor, const CriticConfig& critic, double temperature,
                         const LoraConfig& lora, uint64_t seed)
    : actor_(std::move(actor)),
      critic_(critic_of(actor_, critic.kind)),
      head_(make_value_head(head_width(actor_.config(), critic),
                            wide_options(actor_.weights().embed))),
      stop_gradient_(critic.stop_gradient),
      surprise_(critic.surprise),
      temperature_(temperature) {
  ModelWeights merged = actor_.weights().converted(at::TensorOptions());  // no leaves
  lora_.emplace(lora, merged, seed);
  actor_ = Transformer{actor_.config(), std::move(merged), actor_.compute()};
  require_grad();
}

void ActorCritic::require_grad() {
  if (lora_) {
    lora_->require_grad();
  } else {
    actor_.weights().require_grad();
  }
  if (critic_) critic_->weights().require_grad();
  head_.weight.requires_grad_();
  head_.bias.requires_grad_();
}

ActorCritic ActorCritic::copy_on(at::Device device) const {
  ActorCritic copy{*this};
  copy.actor_ = actor_.copy_on(device);
  if (lora_) copy.lora_ = lora_->copy_for(copy.actor_.weights());
  if (critic_) copy.critic_ = critic_->copy_on(device);
  copy.head_ = {policy::copy_on(head_.weight, device), policy::copy_on(head_.bias, device)};
  copy.require_grad();
  return copy;
}

void ActorCritic::copy_from(const ActorCritic& other) {
  const at::NoGradGuard no_grad;
  if (lora_) {
    lora_->copy_from(*other.lora_);
  } else {
    actor_.weights().copy_from(other.actor_.weights());
  }
  if (critic_) critic_->weights().copy_from(other.critic_->weights());
  head_.weight.copy_(other.head_.weight);
  head_.bias.copy_(other.head_.bias);
}

void ActorCritic::refresh() {
  if (lora_) lora_->merge();
  actor_.refresh();
  if (critic_) critic_->refresh();
}

at::Tensor ActorCritic::surprise_of(std::span<const HeldTrajectory* const> pack) const {
  return surprise_ ? surprise_rows(pack) : at::Tensor();
}

at::Tensor ActorCritic::evaluate_values(std::span<const HeldTrajectory* const> pack) const {
  return head_.values(hidden_rows(critic_body(), plan_of(pack), has_own_critic_body()),
                      surprise_of(pack));
}

TokenEvaluation ActorCritic::evaluate_policy(std::span<const HeldTrajectory* const> pack,
                                             GradientScope scope) const {
  const ActionPack plan = plan_of(pack);
  return score(hidden_rows(actor_, plan, scope == GradientScope::everything), {}, plan.targets);
}

TokenEvaluation ActorCritic::evaluate(std::span<const HeldTrajectory* const> pack,
                                      GradientScope scope) const {
  if (critic_) {
    TokenEvaluation now = evaluate_policy(pack, scope);
    now.value = evaluate_values(pack);
    return now;
  }
  const ActionPack plan = plan_of(pack);
  const at::Tensor rows = hidden_rows(actor_, plan, scope == GradientScope::everything);
  return score(rows, {stop_gradient_ ? rows.detach() : rows, surprise_of(pack)}, plan.targets);
}

TokenEvaluation ActorCritic::score(const at::Tensor& policy_rows, const CriticRows& critic,
                                   const at::Tensor& targets) const {
  const LogProbOptions how{.temperature = temperature_};
  const TokenLogProbs policy =
      token_log_probs(policy_rows, actor_.head(), targets.to(policy_rows.device()), how);
  return {policy.log_probs, policy.entropy,
          critic.hidden.defined() ? head_.values(critic.hidden, critic.surprise) : at::Tensor()};
}

at::Tensor log_probs_under(const Transformer& model, std::span<const HeldTrajectory* const> pack,
                           double temperature) {
  const at::NoGradGuard no_grad;
  const ActionPack plan = plan_of(pack);
  const at::Tensor rows = hidden_rows(model, plan, false);
  return token_log_probs(rows, model.head(), plan.targets.to(rows.device()),
                         {.temperature = temperature})
      .log_probs;
}

void record_values(HeldTrajectory& held, const std::vector<int64_t>& actions,
                   const at::Tensor& values) {
  const at::Tensor row = values.detach().to(at::kCPU, at::kFloat).contiguous();
  const float* next = row.const_data_ptr<float>();
  for (const int64_t t : actions) held.values[static_cast<size_t>(t)] = *next++;
}

void record_log_probs(HeldTrajectory& held, const std::vector<int64_t>& actions,
                      const at::Tensor& log_probs, WeightsMark mark) {
  const at::Tensor row = log_probs.detach().to(at::kCPU, at::kFloat).contiguous();
  const float* next = row.const_data_ptr<float>();
  for (const int64_t action : actions) {
    const auto t = static_cast<size_t>(action);
    held.proximal[t] = *next++;
    held.same_weights[t] = mark.published && held.versions[t] == mark.version ? 1 : 0;
  }
}

}  // namespace warpsmith::policy
