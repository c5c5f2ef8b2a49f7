// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/gradient_accumulator.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace warpsmith::policy {
namespace {

using Pack = std::span<TrainingItem* const>;

std::vector<const HeldTrajectory*> held_of(Pack pack) {
  std::vector<const HeldTrajectory*> held;
  for (const TrainingItem* item : pack) held.push_back(&item->held);
  return held;
}

/// (N), with the type and device of `like`: `value(item, i)` for action token i of each item.
template <class Value>
at::Tensor column(Pack pack, const at::Tensor& like, const Value& value) {
  std::vector<float> all;
  for (const TrainingItem* item : pack) {
    for (size_t i = 0; i < item->actions.size(); ++i) {
      all.push_back(static_cast<float>(value(*item, i)));
    }
  }
  return at::tensor(all, at::kFloat).to(like.options());
}

/// The element of a per-position array that belongs to action token i.
template <class T>
T at_action(const std::vector<T>& array, const TrainingItem& item, size_t i) {
  return array[static_cast<size_t>(item.actions[i])];
}

at::Tensor trajectory_index(Pack pack, at::Device device) {
  std::vector<int64_t> index;
  for (size_t k = 0; k < pack.size(); ++k) {
    index.insert(index.end(), pack[k]->actions.size(), static_cast<int64_t>(k));
  }
  return index_tensor(index).to(device);
}

PolicyTokens tokens_of(const TokenEvaluation& now, Pack pack) {
  const at::Tensor& like = now.log_prob;
  using Item = TrainingItem;
  PolicyTokens t{.log_prob = now.log_prob, .entropy = now.entropy};
  t.behaviour = column(pack, like, [](const Item& item, size_t i) {
    return at_action(item.held.behaviour, item, i);
  });
  t.proximal = column(pack, like, [](const Item& item, size_t i) {
    return at_action(item.held.proximal, item, i);
  });
  t.advantage = column(pack, like, [](const Item& item, size_t i) { return item.advantages[i]; });
  t.trainable = column(pack, like, [](const Item& item, size_t i) { return item.trainable[i]; });
  t.positive = column(pack, like, [](const Item& item, size_t) { return item.reward > 0 ? 1 : 0; });
  if (!pack.front()->reference.empty()) {
    t.reference = column(pack, like, [](const Item& item, size_t i) { return item.reference[i]; });
  }
  t.trajectory = trajectory_index(pack, like.device());
  return t;
}

/// Per action token of a pack, (N) each.
struct Rows {
  at::Tensor log_prob, entropy, clipped, filtered;
};

template <class T>
const T* data_of(at::Tensor& x, at::ScalarType type) {
  x = x.detach().to(at::kCPU, type).contiguous();
  return x.const_data_ptr<T>();
}

void append_samples(Pack pack, Rows rows, std::vector<TokenSample>& out) {
  const float* log_prob = data_of<float>(rows.log_prob, at::kFloat);
  const float* entropy = data_of<float>(rows.entropy, at::kFloat);
  const bool* clipped = data_of<bool>(rows.clipped, at::kBool);
  const bool* filtered = data_of<bool>(rows.filtered, at::kBool);
  size_t row = 0;
  for (const TrainingItem* item : pack) {
    for (size_t i = 0; i < item->actions.size(); ++i, ++row) {
      const HeldTrajectory& held = item->held;
      out.push_back({.log_prob = log_prob[row],
                     .behaviour = at_action(held.behaviour, *item, i),
                     .proximal = at_action(held.proximal, *item, i),
                     .entropy = entropy[row],
                     .value = at_action(held.values, *item, i) + static_cast<float>(item->baseline),
                     .target = item->targets[i],
                     .lag = item->lags[i],
                     .clipped = clipped[row],
                     .filtered = filtered[row],
                     .stale = item->trainable[i] == 0,
                     .same_weights = at_action(held.same_weights, *item, i) == 1});
    }
  }
}

bool is_scored(const TrainingItem* item) {
  return item->held.scored > 0;
}

/// Calls `visit` with each item that no streamed forward scored and its part of `rows` (N).
template <class Visit>
void for_each_unscored(Pack pack, const at::Tensor& rows, const Visit& visit) {
  int64_t begin = 0;
  for (TrainingItem* item : pack) {
    if (!is_scored(item)) visit(*item, rows.narrow(0, begin, item->token_count()));
    begin += item->token_count();
  }
}

}  // namespace

/// Without the step's first policy, `log_probs` are that policy's.
void GradientAccumulator::score_at_use(Pack pack, at::Tensor log_probs, const PassOptions& pass,
                                       double temperature) {
  if (std::all_of(pack.begin(), pack.end(), is_scored)) return;
  if (pass.first != nullptr) log_probs = log_probs_under(*pass.first, held_of(pack), temperature);
  for_each_unscored(pack, log_probs, [&](TrainingItem& item, const at::Tensor& part) {
    record_log_probs(item.held, item.actions, part, {.version = pass.version});
    item.held.scored = item.held.size();
  });
}

void GradientAccumulator::add_reference(Pack pack, const Transformer* reference,
                                        double temperature) const {
  if (config_.loss.kl <= 0 || !pack.front()->reference.empty()) return;
  if (reference == nullptr) throw std::invalid_argument("KL term without a reference policy");
  const std::vector<const HeldTrajectory*> held = held_of(pack);
  const at::Tensor all =
      log_probs_under(*reference, held, temperature).to(at::kCPU, at::kFloat).contiguous();
  const float* next = all.const_data_ptr<float>();
  for (TrainingItem* item : pack) {
    item->reference.assign(next, next + item->actions.size());
    next += item->actions.size();
  }
}

void GradientAccumulator::add(const ActorCritic& networks, Pack pack, const PassOptions& pass) {
  if (pack.empty()) return;
  const std::vector<const HeldTrajectory*> held = held_of(pack);
  const bool apart = networks.has_own_critic_body();
  TokenEvaluation now = apart ? TokenEvaluation{.value = networks.evaluate_values(held)}
                              : networks.evaluate(held, pass.scope);
  prepare(pack, now.value, pass);
  at::Tensor loss = config_.critic.value_weight * value_loss_of(now.value, pack);
  if (apart) {
    loss.backward();  // frees the critic's activations before the policy's are made
    loss = at::Tensor();
    const TokenEvaluation policy = networks.evaluate_policy(held, pass.scope);
    now.log_prob = policy.log_prob;
    now.entropy = policy.entropy;
  }
  score_at_use(pack, now.log_prob, pass, networks.temperature());
  add_reference(pack, pass.reference, networks.temperature());
  const at::Tensor of_policy = policy_loss_of(now, pack, pass);
  if (pass.scope == GradientScope::everything) loss = loss.defined() ? of_policy + loss : of_policy;
  if (loss.defined()) loss.backward();
}

void GradientAccumulator::prepare(Pack pack, const at::Tensor& values, const PassOptions& pass) {
  for_each_unscored(pack, values, [](TrainingItem& item, const at::Tensor& part) {
    record_values(item.held, item.actions, part);
  });
  for (TrainingItem* item : pack) {
    if (item->advantages.empty()) compute_advantages(*item, config_.advantage, pass.divisor);
    sums_.tokens += item->token_count();
  }
  sums_.trajectories += static_cast<int64_t>(pack.size());
}

at::Tensor GradientAccumulator::weights_of(Pack pack, const at::Tensor& like) const {
  const bool per_trajectory = config_.loss.aggregation == Aggregation::trajectory_mean;
  return column(pack, like, [&](const TrainingItem& item, size_t) {
    return per_trajectory ? 1.0 / static_cast<double>(item.actions.size()) : 1.0;
  });
}

at::Tensor GradientAccumulator::value_loss_of(const at::Tensor& now, Pack pack) {
  const at::Tensor target = column(pack, now, [](const TrainingItem& item, size_t i) {
    return double{item.targets[i]} - item.baseline;
  });
  const at::Tensor first = column(pack, now, [](const TrainingItem& item, size_t i) {
    return at_action(item.held.values, item, i);
  });
  const at::Tensor per_token = value_loss(now, target, first, config_.critic.value_clip);
  const at::Tensor value = (weights_of(pack, now) * per_token).sum();
  sums_.value += value.item<double>();
  return value;
}

at::Tensor GradientAccumulator::policy_loss_of(const TokenEvaluation& now, Pack pack,
                                               const PassOptions& pass) {
  const PolicyLoss policy = policy_loss(config_.loss, tokens_of(now, pack));
  const at::Tensor weighted = (weights_of(pack, now.log_prob) * policy.per_token).sum();
  sums_.policy += weighted.item<double>();
  if (pass.sample) {
    append_samples(pack, {now.log_prob, now.entropy, policy.clipped, policy.filtered}, samples_);
  }
  return weighted;
}

LossSums& LossSums::operator+=(const LossSums& other) {
  policy += other.policy;
  value += other.value;
  tokens += other.tokens;
  trajectories += other.trajectories;
  return *this;
}

double scale_of(const LossSums& sums, Aggregation aggregation) {
  const bool per_trajectory = aggregation == Aggregation::trajectory_mean;
  const int64_t count = per_trajectory ? sums.trajectories : sums.tokens;
  return count == 0 ? 0 : 1.0 / static_cast<double>(count);
}

std::vector<TokenSample> GradientAccumulator::take_samples() {
  return std::exchange(samples_, {});
}

}  // namespace warpsmith::policy
