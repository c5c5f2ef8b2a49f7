// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/actor_critic.hpp"

#include <ATen/core/grad_mode.h>

#include <utility>

#include "policy/model/log_probs.hpp"

namespace warpsmith::policy {
namespace {

ActionPack plan_of(std::span<const HeldTrajectory* const> pack) {
  std::vector<MaskedTokens> sequences;
  for (const HeldTrajectory* held : pack) sequences.push_back({held->tokens, held->mask});
  return plan_actions(sequences);
}

std::optional<Transformer> critic_of(const Transformer& actor, CriticKind kind) {
  if (kind == CriticKind::shared) return std::nullopt;
  Transformer body{actor.config(), actor.weights().clone(), actor.compute()};
  body.weights().require_grad();
  return body;
}

at::Tensor hidden_rows(const Transformer& body, const ActionPack& plan, bool with_gradient) {
  const at::AutoGradMode mode{with_gradient && at::GradMode::is_enabled()};
  const at::Tensor hidden = body.forward(plan.batch);
  return hidden.index_select(0, plan.rows.to(hidden.device()));
}

}  // namespace

ActorCritic::ActorCritic(Transformer actor, const CriticConfig& critic, double temperature)
    : actor_(std::move(actor)),
      critic_(critic_of(actor_, critic.kind)),
      head_(make_value_head(actor_.config(), actor_.weights().embed.options())),
      stop_gradient_(critic.stop_gradient),
      temperature_(temperature) {
  actor_.weights().require_grad();
  head_.weight.requires_grad_();
  head_.bias.requires_grad_();
}

void ActorCritic::refresh() {
  actor_.refresh();
  if (critic_) critic_->refresh();
}

at::Tensor ActorCritic::evaluate_values(std::span<const HeldTrajectory* const> pack) const {
  return head_.values(hidden_rows(*critic_, plan_of(pack), true));
}

TokenEvaluation ActorCritic::evaluate_policy(std::span<const HeldTrajectory* const> pack,
                                             Reach reach) const {
  const ActionPack plan = plan_of(pack);
  return score(hidden_rows(actor_, plan, reach == Reach::everything), {}, plan.targets);
}

TokenEvaluation ActorCritic::evaluate(std::span<const HeldTrajectory* const> pack,
                                      Reach reach) const {
  if (critic_) {
    TokenEvaluation now = evaluate_policy(pack, reach);
    now.value = evaluate_values(pack);
    return now;
  }
  const ActionPack plan = plan_of(pack);
  const at::Tensor rows = hidden_rows(actor_, plan, reach == Reach::everything);
  return score(rows, stop_gradient_ ? rows.detach() : rows, plan.targets);
}

TokenEvaluation ActorCritic::score(const at::Tensor& policy_rows, const at::Tensor& value_rows,
                                   const at::Tensor& targets) const {
  const LogProbOptions how{.temperature = temperature_};
  const TokenLogProbs policy =
      token_log_probs(policy_rows, actor_.head(), targets.to(policy_rows.device()), how);
  return {policy.log_probs, policy.entropy,
          value_rows.defined() ? head_.values(value_rows) : at::Tensor()};
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
