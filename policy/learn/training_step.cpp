// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/training_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "policy/learn/actor_critic.hpp"
#include "policy/learn/step_cycle.hpp"
#include "runtime/random_stream.hpp"

namespace warpsmith::policy {
namespace {

double mean_square_advantage(const std::deque<TrainingItem>& items) {
  double sum = 0;
  double count = 0;
  for (const TrainingItem& item : items) {
    for (const float a : item.advantages) sum += double{a} * double{a};
    count += static_cast<double>(item.advantages.size());
  }
  return count == 0 ? 0 : sum / count;
}

bool are_finite(const UpdateNumbers& n) {
  return std::isfinite(n.policy_loss) && std::isfinite(n.value_loss) &&
         std::isfinite(n.policy_norm) && std::isfinite(n.critic_norm);
}

std::string text_of(const UpdateNumbers& n) {
  return fmt::format(
      "policy loss {}, value loss {}, gradient norm of the policy {}, of the critic {}",
      n.policy_loss, n.value_loss, n.policy_norm, n.critic_norm);
}

bool has_finite_weights(const ActorCritic& networks) {
  const auto all_finite = [](const ParameterGroup& group) {
    return std::all_of(group.parameters.begin(), group.parameters.end(), [](const auto& entry) {
      return entry.second.detach().isfinite().all().template item<bool>();
    });
  };
  const std::vector<ParameterGroup> groups = parameter_groups(networks);
  return std::all_of(groups.begin(), groups.end(), all_finite);
}

}  // namespace

bool TrainingStep::has_work(const std::deque<TrainingItem>& closed) const {
  return cycle_.phase() != StepPhase::collecting || !closed.empty() || cycle_.update_due();
}

void TrainingStep::advance(TrainerState& state, std::deque<TrainingItem>& closed,
                           std::vector<DroppedTrajectory>& dropped) {
  if (cycle_.phase() == StepPhase::collecting) {
    run_packs(state, next_collected(state, closed, dropped));
  } else if (cycle_.phase() == StepPhase::repeating) {
    run_packs(state, next_repeated(state.mark.version.step));
  }
  if (cycle_.update_due()) update(state);
}

bool TrainingStep::admit(TrainingItem item, const TrainerState& state,
                         std::vector<DroppedTrajectory>& dropped) {
  const TrajectoryId id = item.held.id;
  if (item.actions.empty()) {
    dropped.push_back({id, DropReason::no_action_tokens});
    return false;
  }
  if (mark_stale(item, state.mark.version, state.restored, config_.max_lag) == 0) {
    dropped.push_back({id, DropReason::stale});
    return false;
  }
  items_.push_back(std::move(item));
  return true;
}

TrainingStep::Packs TrainingStep::next_collected(const TrainerState& state,
                                                 std::deque<TrainingItem>& closed,
                                                 std::vector<DroppedTrajectory>& dropped) {
  Packs packs(accumulators_.size());
  PackSplit split{packs.size(), config_.pack_tokens};
  int64_t taken = 0;
  while (!closed.empty() && taken < cycle_.room()) {
    const int64_t next = closed.front().held.useful_length();
    const auto rank = split.rank_for(next);
    if (!rank) break;
    TrainingItem item = std::move(closed.front());
    closed.pop_front();
    if (!admit(std::move(item), state, dropped)) continue;
    packs[*rank].push_back(&items_.back());
    split.add(*rank, next);
    ++taken;
  }
  return packs;
}

TrainingStep::Packs TrainingStep::next_repeated(uint32_t step) {
  if (cycle_.cursor() == 0) order_epoch(step);
  Packs packs(accumulators_.size());
  PackSplit split{packs.size(), config_.pack_tokens};
  for (size_t at = cycle_.cursor(); at < cycle_.end(); ++at) {
    TrainingItem& item = items_[order_[at]];
    const auto rank = split.rank_for(item.held.useful_length());
    if (!rank) break;
    packs[*rank].push_back(&item);
    split.add(*rank, item.held.useful_length());
  }
  return packs;
}

void TrainingStep::order_epoch(uint32_t step) {
  order_.resize(items_.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  const uint64_t lane = (uint64_t{step} << 16U) | static_cast<uint64_t>(cycle_.epoch());
  RandomStream random{seed_, "learner.order", lane};
  shuffle(order_, random);
}

GradientScope TrainingStep::gradient_scope(const TrainerState& state) const {
  const auto warmup = static_cast<uint64_t>(config_.critic.value_warmup);
  return state.mark.version.step < warmup ? GradientScope::value_only : GradientScope::everything;
}

double TrainingStep::divisor(const TrainerState& state) const {
  return config_.advantage.running_scale ? state.scale.divisor() : 1.0;
}

PassOptions TrainingStep::pass_of(const TrainerState& state, size_t rank) const {
  const auto& reference = state.ranks[rank].reference;
  return {.scope = gradient_scope(state),
          .version = state.mark.version,
          .first = state.mark.published ? nullptr : &first_[rank],
          .reference = reference ? &*reference : nullptr,
          .divisor = divisor(state),
          .sample = cycle_.is_last_epoch()};
}

void TrainingStep::run_packs(TrainerState& state, const Packs& packs) {
  if (packs.front().empty()) return;  // the first rank is filled first
  state.ranks.run([&](size_t rank) {
    accumulators_[rank].add(state.ranks[rank].networks, packs[rank], pass_of(state, rank));
  });
  count(packs);
}

void TrainingStep::count(const Packs& packs) {
  int64_t trajectories = 0;
  int64_t actions = 0;
  for (const Pack& pack : packs) {
    trajectories += static_cast<int64_t>(pack.size());
    for (const TrainingItem* item : pack) {
      actions += item->token_count();
      report_.forward_tokens += item->held.useful_length();
    }
  }
  cycle_.add(trajectories, actions);
}

void TrainingStep::update(TrainerState& state) {
  LossSums sums;
  for (const GradientAccumulator& one : accumulators_) sums += one.sums();
  const double scale = scale_of(sums, config_.loss.aggregation);
  if (scale > 0) {
    ++report_.updates;
    const std::vector<double> norms = state.ranks.sum_gradients();
    const UpdateNumbers numbers{.policy_loss = sums.policy * scale,
                                .value_loss = sums.value * scale,
                                .policy_norm = norms[policy_group],
                                .critic_norm = norms[critic_group]};
    if (are_finite(numbers)) {
      apply(state, numbers, scale);
    } else {
      skip(state, numbers);
    }
  }
  for (GradientAccumulator& one : accumulators_) one.reset();
  cycle_.updated();
}

void TrainingStep::apply(TrainerState& state, const UpdateNumbers& numbers, double scale) {
  const OptimizerConfig& c = config_.optimizer;
  const double share = warmup_share(state.mark.version.step, c.warmup);
  const std::array rates{c.learning_rate * share, c.critic_learning_rate * share};
  const std::array norms{numbers.policy_norm, numbers.critic_norm};
  state.ranks.update(rates, scale, norms);
  ++state.mark.updates;
  state.mark.published = false;
  state.skipped = {};
  report_.learning_rate = c.learning_rate * share;
  report_.policy_loss = numbers.policy_loss;
  report_.value_loss = numbers.value_loss;
  report_.gradient_norm = std::max(report_.gradient_norm, numbers.policy_norm * scale);
  report_.critic_gradient_norm =
      std::max(report_.critic_gradient_norm, numbers.critic_norm * scale);
}

void TrainingStep::skip(TrainerState& state, const UpdateNumbers& numbers) {
  state.ranks.clear_gradients();
  ++report_.skipped_updates;
  ++state.skipped.in_a_row;
  state.skipped.last =
      text_of(numbers) + (has_finite_weights(state.networks()) ? "" : "; weights are not finite");
}

StepReport TrainingStep::finish(TrainerState& state) {
  report_.value_only = gradient_scope(state) == GradientScope::value_only;
  ++state.mark.version.step;
  state.mark.published = true;
  report_.version = state.mark.version;
  for (const TrainingItem& item : items_) report_.trained.push_back(item.held.id);
  report_.outcomes = outcome_statistics(items_);
  std::vector<TokenSample> samples;
  for (GradientAccumulator& one : accumulators_) {
    const std::vector<TokenSample> more = one.take_samples();
    samples.insert(samples.end(), more.begin(), more.end());
  }
  report_.tokens = ratio_statistics(samples);
  report_.advantage_divisor = divisor(state);
  update_baselines(state);
  return std::move(report_);
}

void TrainingStep::update_baselines(TrainerState& state) const {
  if (config_.critic.prompt_baseline) {
    for (const TrainingItem& item : items_) state.prompts.add(prompt_key(item.held), item.reward);
  }
  if (!config_.advantage.running_scale) return;
  const double divisor = state.scale.divisor();
  state.scale.add_step(mean_square_advantage(items_) * divisor * divisor);
}

}  // namespace warpsmith::policy
