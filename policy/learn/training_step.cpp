// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/training_step.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "policy/learn/parameter_groups.hpp"
#include "policy/learn/shuffle.hpp"
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
  return "policy loss " + std::to_string(n.policy_loss) + ", value loss " +
         std::to_string(n.value_loss) + ", gradient norm of the policy " +
         std::to_string(n.policy_norm) + ", of the critic " + std::to_string(n.critic_norm);
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
    run_pack(state, next_collected(state, closed, dropped));
  } else if (cycle_.phase() == StepPhase::repeating) {
    run_pack(state, next_repeated(state.mark.version.step));
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

TrainingStep::Pack TrainingStep::next_collected(const TrainerState& state,
                                                std::deque<TrainingItem>& closed,
                                                std::vector<DroppedTrajectory>& dropped) {
  Pack pack;
  int64_t tokens = 0;
  while (!closed.empty() && static_cast<int64_t>(pack.size()) < cycle_.room()) {
    const int64_t next = closed.front().held.useful_length();
    if (!pack.empty() && tokens + next > config_.pack_tokens) break;
    TrainingItem item = std::move(closed.front());
    closed.pop_front();
    if (!admit(std::move(item), state, dropped)) continue;
    pack.push_back(&items_.back());
    tokens += next;
  }
  return pack;
}

TrainingStep::Pack TrainingStep::next_repeated(uint32_t step) {
  if (cycle_.cursor() == 0) order_epoch(step);
  Pack pack;
  int64_t tokens = 0;
  for (size_t at = cycle_.cursor(); at < cycle_.end(); ++at) {
    TrainingItem& item = items_[order_[at]];
    tokens += item.held.useful_length();
    if (!pack.empty() && tokens > config_.pack_tokens) break;
    pack.push_back(&item);
  }
  return pack;
}

void TrainingStep::order_epoch(uint32_t step) {
  order_.resize(items_.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  const uint64_t lane = (uint64_t{step} << 16U) | static_cast<uint64_t>(cycle_.epoch());
  RandomStream random{seed_, "learner.order", lane};
  shuffle(order_, random);
}

Reach TrainingStep::reach(const TrainerState& state) const {
  const auto warmup = static_cast<uint64_t>(config_.critic.value_warmup);
  return state.mark.version.step < warmup ? Reach::value_only : Reach::everything;
}

double TrainingStep::divisor(const TrainerState& state) const {
  return config_.advantage.running_scale ? state.scale.divisor() : 1.0;
}

void TrainingStep::run_pack(TrainerState& state, const Pack& pack) {
  if (pack.empty()) return;
  accumulator_.add(state.networks, pack,
                   {.reach = reach(state),
                    .version = state.mark.version,
                    .first = state.mark.published ? nullptr : &first_,
                    .reference = state.reference ? &*state.reference : nullptr,
                    .divisor = divisor(state),
                    .sample = cycle_.is_last_epoch()});
  int64_t actions = 0;
  for (const TrainingItem* item : pack) {
    actions += item->token_count();
    report_.forward_tokens += item->held.useful_length();
  }
  cycle_.add(static_cast<int64_t>(pack.size()), actions);
}

void TrainingStep::update(TrainerState& state) {
  const double scale = accumulator_.scale();
  if (scale > 0) {
    ++report_.updates;
    const UpdateNumbers numbers{.policy_loss = accumulator_.sums().policy * scale,
                                .value_loss = accumulator_.sums().value * scale,
                                .policy_norm = state.optimiser.gradient_norm(policy_group),
                                .critic_norm = state.optimiser.gradient_norm(critic_group)};
    if (are_finite(numbers)) {
      apply(state, numbers, scale);
    } else {
      skip(state, numbers);
    }
  }
  accumulator_.reset();
  cycle_.updated();
}

void TrainingStep::apply(TrainerState& state, const UpdateNumbers& numbers, double scale) {
  const OptimizerConfig& c = config_.optimizer;
  const double share = warmup_share(state.mark.version.step, c.warmup);
  state.optimiser.apply(policy_group, c.learning_rate * share, scale, numbers.policy_norm);
  state.optimiser.apply(critic_group, c.critic_learning_rate * share, scale, numbers.critic_norm);
  state.networks.refresh();
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
  state.optimiser.clear_gradients();
  ++report_.skipped_updates;
  ++state.skipped.in_a_row;
  state.skipped.last =
      text_of(numbers) + (has_finite_weights(state.networks) ? "" : "; weights are not finite");
}

StepReport TrainingStep::finish(TrainerState& state) {
  report_.value_only = reach(state) == Reach::value_only;
  ++state.mark.version.step;
  state.mark.published = true;
  report_.version = state.mark.version;
  for (const TrainingItem& item : items_) report_.trained.push_back(item.held.id);
  report_.outcomes = outcome_statistics(items_);
  report_.tokens = ratio_statistics(accumulator_.take_samples());
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
