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

std::optional<Transformer> critic_of(const ModelConfig& config, const ModelWeights& weights,
                                     CriticKind kind) {
  if (kind == CriticKind::shared) return std::nullopt;
  Transformer body{config, weights.clone()};
  body.weights().require_grad();
  return body;
}

at::Tensor hidden_rows(const Transformer& body, const ActionPack& plan, bool with_gradient) {
  const at::AutoGradMode mode{with_gradient && at::GradMode::is_enabled()};
  return body.forward(plan.batch).index_select(0, plan.rows);
}

}  // namespace

ActorCritic::ActorCritic(ModelConfig config, ModelWeights weights, const CriticConfig& critic,
                         double temperature)
    : actor_(std::move(config), std::move(weights)),
      critic_(critic_of(actor_.config(), actor_.weights(), critic.kind)),
      head_(make_value_head(actor_.config(), actor_.weights().embed.scalar_type())),
      stop_gradient_(critic.stop_gradient),
      temperature_(temperature) {
  actor_.weights().require_grad();
  head_.weight.requires_grad_();
  head_.bias.requires_grad_();
}

TokenEvaluation ActorCritic::evaluate(std::span<const HeldTrajectory* const> pack,
                                      Reach reach) const {
  const ActionPack plan = plan_of(pack);
  const bool train_policy = reach == Reach::everything;
  const at::Tensor rows = hidden_rows(actor_, plan, train_policy);
  if (critic_) return score(rows, hidden_rows(*critic_, plan, true), plan.targets);
  return score(rows, stop_gradient_ ? rows.detach() : rows, plan.targets);
}

TokenEvaluation ActorCritic::score(const at::Tensor& policy_rows, const at::Tensor& value_rows,
                                   const at::Tensor& targets) const {
  const LogProbOptions how{.temperature = temperature_};
  const TokenLogProbs policy = token_log_probs(policy_rows, actor_.weights().head, targets, how);
  return {policy.log_probs, policy.entropy, head_.values(value_rows)};
}

at::Tensor log_probs_under(const Transformer& model, std::span<const HeldTrajectory* const> pack,
                           double temperature) {
  const at::NoGradGuard no_grad;
  const ActionPack plan = plan_of(pack);
  const at::Tensor rows = hidden_rows(model, plan, false);
  return token_log_probs(rows, model.weights().head, plan.targets, {.temperature = temperature})
      .log_probs;
}

void record_scores(HeldTrajectory& held, const std::vector<int64_t>& actions,
                   const TokenEvaluation& scores, WeightsMark mark) {
  const at::Tensor log_probs = scores.log_prob.detach().to(at::kCPU, at::kFloat).contiguous();
  const at::Tensor values = scores.value.detach().to(at::kCPU, at::kFloat).contiguous();
  for (size_t i = 0; i < actions.size(); ++i) {
    const auto t = static_cast<size_t>(actions[i]);
    held.proximal[t] = log_probs.const_data_ptr<float>()[i];
    held.values[t] = values.const_data_ptr<float>()[i];
    held.same_weights[t] = mark.published && held.versions[t] == mark.version ? 1 : 0;
  }
}

}  // namespace warpsmith::policy
