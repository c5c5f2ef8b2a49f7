// SPDX-License-Identifier: Apache-2.0
// The course of a step: packs, updates, the report.
#include <algorithm>
#include <cmath>
#include <utility>

#include "policy/learn/learner_parts.hpp"
#include "policy/learn/parameter_groups.hpp"
#include "policy/learn/shuffle.hpp"
#include "policy/learn/trainer.hpp"
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

}  // namespace

bool Trainer::has_work() const {
  if (cycle_.phase() != StepPhase::collecting) return true;
  return !waiting_.empty() || cycle_.update_due();
}

Progress Trainer::advance() {
  Progress progress;
  if (cycle_.phase() == StepPhase::collecting) {
    collect(progress);
  } else {
    repeat();
  }
  if (cycle_.update_due()) update();
  if (cycle_.phase() == StepPhase::finished) finish_step(progress);
  return progress;
}

Reach Trainer::reach() const {
  const bool warming = mark_.version.step < static_cast<uint64_t>(setup_.learner.value_warmup);
  return warming ? Reach::value_only : Reach::everything;
}

void Trainer::collect(Progress& progress) {
  run_pack(next_collected(progress));
}

bool Trainer::admit(TrainingItem item, Progress& progress) {
  const TrajectoryId id = item.held.id;
  if (item.actions.empty()) {
    progress.dropped.push_back({id, DropReason::no_action_tokens});
    return false;
  }
  if (mark_stale(item, mark_.version, setup_.learner.max_lag) == 0) {
    progress.dropped.push_back({id, DropReason::stale});
    return false;
  }
  step_items_.push_back(std::move(item));
  return true;
}

std::vector<TrainingItem*> Trainer::next_collected(Progress& progress) {
  std::vector<TrainingItem*> pack;
  int64_t tokens = 0;
  while (!waiting_.empty() && static_cast<int64_t>(pack.size()) < cycle_.room()) {
    const int64_t next = waiting_.front().held.useful_length();
    if (!pack.empty() && tokens + next > setup_.learner.pack_tokens) break;
    TrainingItem item = std::move(waiting_.front());
    waiting_.pop_front();
    if (!admit(std::move(item), progress)) continue;
    pack.push_back(&step_items_.back());
    tokens += next;
  }
  return pack;
}

std::vector<TrainingItem*> Trainer::next_repeated() {
  std::vector<TrainingItem*> pack;
  int64_t tokens = 0;
  for (size_t at = cycle_.cursor(); at < cycle_.end(); ++at) {
    TrainingItem& item = step_items_[order_[at]];
    tokens += item.held.useful_length();
    if (!pack.empty() && tokens > setup_.learner.pack_tokens) break;
    pack.push_back(&item);
  }
  return pack;
}

void Trainer::repeat() {
  if (cycle_.phase() != StepPhase::repeating) return;
  if (cycle_.cursor() == 0) order_epoch();
  run_pack(next_repeated());
}

void Trainer::order_epoch() {
  order_.resize(step_items_.size());
  for (size_t i = 0; i < order_.size(); ++i) order_[i] = i;
  const uint64_t lane =
      (uint64_t{mark_.version.step} << 16U) | static_cast<uint64_t>(cycle_.epoch());
  RandomStream random{setup_.seed, "learner.order", lane};
  shuffle(order_, random);
}

void Trainer::run_pack(const std::vector<TrainingItem*>& pack) {
  if (pack.empty()) return;
  accumulator_.add(networks_, pack,
                   {.reach = reach(),
                    .mark = mark_,
                    .divisor = setup_.learner.running_advantage_scale ? scale_.divisor() : 1.0,
                    .sample = cycle_.is_last_epoch()});
  int64_t actions = 0;
  for (const TrainingItem* item : pack) {
    actions += item->token_count();
    draft_.forward_tokens += item->held.useful_length();
  }
  cycle_.add(static_cast<int64_t>(pack.size()), actions);
}

void Trainer::update() {
  const LearnerConfig& c = setup_.learner;
  const double scale = accumulator_.scale();
  if (scale > 0) {
    const double share = warmup_share(mark_.version.step, c.warmup);
    const double policy = optimiser_.step(policy_group, c.learning_rate * share, scale);
    const double critic = optimiser_.step(critic_group, c.critic_learning_rate * share, scale);
    draft_.learning_rate = c.learning_rate * share;
    draft_.policy_loss = accumulator_.sums().policy * scale;
    draft_.value_loss = accumulator_.sums().value * scale;
    note_update(policy, critic);
  }
  accumulator_.reset();
  cycle_.updated();
}

void Trainer::note_update(double policy_norm, double critic_norm) {
  ++mark_.updates;
  mark_.published = false;
  ++draft_.updates;
  if (!std::isfinite(policy_norm) || !std::isfinite(critic_norm)) ++draft_.skipped_updates;
  if (std::isfinite(policy_norm)) {
    draft_.gradient_norm = std::max(draft_.gradient_norm, policy_norm);
  }
  if (std::isfinite(critic_norm)) {
    draft_.critic_gradient_norm = std::max(draft_.critic_gradient_norm, critic_norm);
  }
}

void Trainer::learn_baselines() {
  for (const TrainingItem& item : step_items_) {
    if (setup_.learner.prompt_baseline) prompts_.add(prompt_key(item.held), item.reward);
  }
  if (!setup_.learner.running_advantage_scale) return;
  const double divisor = scale_.divisor();
  scale_.add_step(mean_square_advantage(step_items_) * divisor * divisor);
}

StepReport Trainer::make_report() {
  StepReport report = std::exchange(draft_, {});
  report.version = mark_.version;
  for (const TrainingItem& item : step_items_) report.trained.push_back(item.held.id);
  report.outcomes = outcome_statistics(step_items_);
  report.tokens = ratio_statistics(accumulator_.take_samples());
  report.advantage_divisor = setup_.learner.running_advantage_scale ? scale_.divisor() : 1.0;
  return report;
}

void Trainer::finish_step(Progress& progress) {
  draft_.value_only = reach() == Reach::value_only;
  ++mark_.version.step;
  mark_.published = true;
  progress.step = make_report();
  learn_baselines();
  step_items_.clear();
  cycle_ = StepCycle{step_budget(setup_.learner)};
  publish();
}

void Trainer::publish() {
  published_ = {mark_.version,
                std::make_shared<const ModelWeights>(networks_.actor().weights().clone())};
}

}  // namespace warpsmith::policy
