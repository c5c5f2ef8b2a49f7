// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/trainer.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "policy/learn/device_memory.hpp"
#include "policy/learn/losses.hpp"
#include "policy/learn/parameter_groups.hpp"
#include "policy/learn/placement.hpp"
#include "policy/learn/trainer_checkpoint.hpp"

namespace warpsmith::policy {
namespace {

TrainerState make_state(const TrainerSetup& setup, ModelConfig config, ModelWeights weights,
                        const std::optional<ModelWeights>& reference) {
  ActorCritic networks{placed(std::move(config), std::move(weights), setup.learner),
                       setup.learner.critic, setup.temperature};
  if (setup.critic) assign_critic(networks, *setup.critic);
  AdamW optimiser{setup.learner.optimizer, parameter_groups(networks)};
  TrainerState state{.networks = std::move(networks), .optimiser = std::move(optimiser)};
  state.mark.version = setup.start;
  state.restored = {{setup.start.incarnation, setup.start.step}};
  if (setup.learner.loss.kl > 0) {
    const Transformer& actor = state.networks.actor();
    state.reference.emplace(actor.config(), (reference ? *reference : actor.weights())
                                                .clone()
                                                .converted(actor.computed().embed.options()));
  }
  return state;
}

}  // namespace

Trainer::Trainer(TrainerSetup setup, ModelConfig config, ModelWeights weights,
                 const std::optional<ModelWeights>& reference)
    : setup_(std::move(setup)),
      state_(make_state(setup_, std::move(config), std::move(weights), reference)),
      running_(setup_.learner) {
  begin_step();
}

Result<void> Trainer::observe(const Segment& segment) {
  return running_.observe(segment, state_.networks, state_.mark);
}

void Trainer::forget(TrajectoryId id) {
  running_.forget(id);
  std::erase_if(closed_, [&](const TrainingItem& item) { return item.held.id == id; });
}

Result<void> Trainer::close(TrajectoryId id, const Outcome& outcome) {
  if (!running_.contains(id)) {
    return fail(ErrorCode::not_found,
                "trajectory " + std::to_string(id) + " is not being observed");
  }
  if (!std::isfinite(outcome.reward)) {
    return fail(ErrorCode::invalid_argument,
                "trajectory " + std::to_string(id) + ": its reward is not finite");
  }
  closed_.push_back(make_training_item(running_.take(id), outcome));
  return {};
}

TrainingItem Trainer::make_training_item(HeldTrajectory held, const Outcome& outcome) const {
  const LearnerConfig& c = setup_.learner;
  const double penalty = overlong_penalty(held.action_tokens(), c.overlong);
  const double baseline = c.critic.prompt_baseline ? state_.prompts.of(prompt_key(held)) : 0.0;
  TrainingItem item = make_item(std::move(held), outcome, outcome.reward + penalty);
  item.baseline = baseline;
  return item;
}

Progress Trainer::advance() {
  Progress progress;
  step_->advance(state_, closed_, progress.dropped);
  progress.halt = halt();
  if (!step_->is_finished()) return progress;
  progress.step = step_->finish(state_);
  const at::Device device = published_.weights->embed.device();
  progress.step->peak_bytes = peak_bytes(device);
  reset_peak_bytes(device);
  begin_step();
  return progress;
}

Progress Trainer::flush() {
  Progress all;
  while (!all.step && !all.halt && has_work()) {
    Progress one = advance();
    all.step = std::move(one.step);
    all.halt = std::move(one.halt);
    all.dropped.insert(all.dropped.end(), one.dropped.begin(), one.dropped.end());
  }
  if (all.step || all.halt || step_->collected() == 0) return all;
  step_->close();
  while (!all.step && !all.halt) {
    Progress one = advance();
    all.step = std::move(one.step);
    all.halt = std::move(one.halt);
  }
  return all;
}

std::optional<Error> Trainer::halt() const {
  const SkippedUpdates& skipped = state_.skipped;
  if (skipped.in_a_row < setup_.learner.max_skipped) return std::nullopt;
  return Error{ErrorCode::infrastructure,
               "learner: " + std::to_string(skipped.in_a_row) +
                   " updates in a row were skipped, as learner.max_skipped allows no more; the "
                   "last one: " +
                   skipped.last +
                   ". The run can be resumed from its last checkpoint: lower "
                   "learner.optimizer.learning_rate or learner.optimizer.gradient_clip"};
}

TrainerStatus Trainer::status() const {
  return {.running = running_.size(),
          .waiting = closed_.size(),
          .bytes = running_.bytes(),
          .host_bytes = running_.host_bytes(),
          .offloaded_prefixes = running_.offloaded_prefixes(),
          .released_prefixes = running_.released_prefixes()};
}

Result<TrainerSnapshot> Trainer::snapshot() const {
  // A snapshot takes as much of the host's memory as the parameters and their moments.
  release_unused_host_memory(published_.weights->embed.device().type());
  if (!mid_step()) return TrainerSnapshot{state_};
  return fail(ErrorCode::invalid_argument,
              "checkpoint: a step is not complete; take it after its report");
}

Result<void> Trainer::restore(const std::filesystem::path& folder, uint32_t incarnation) {
  if (auto r = restore_checkpoint(state_, folder, incarnation); !r) return r;
  running_.clear();
  closed_.clear();
  begin_step();
  return {};
}

/// Publishes the weights that the step begins with.
void Trainer::begin_step() {
  const ModelWeights& newest = state_.networks.actor().computed();
  published_ = {state_.mark.version, std::make_shared<const ModelWeights>(newest.clone())};
  wait_for(newest.embed.device());  // readers use streams of their own
  step_.emplace(setup_.learner, setup_.seed, Transformer{model_config(), *published_.weights});
}

}  // namespace warpsmith::policy
