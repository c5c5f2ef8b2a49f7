// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/trainer.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "policy/learn/losses.hpp"
#include "policy/learn/placement.hpp"
#include "policy/learn/ranks/threaded_group.hpp"
#include "policy/learn/trainer_checkpoint.hpp"
#include "policy/model/libtorch_runtime.hpp"

namespace warpsmith::policy {
namespace {

ActorCritic networks_of(const TrainerSetup& setup, Transformer actor) {
  const LearnerConfig& c = setup.learner;
  if (c.lora.rank == 0) return {std::move(actor), c.critic, setup.temperature};
  return {std::move(actor), c.critic, setup.temperature, c.lora, setup.seed};
}

/// Now, before the first update.
Transformer initial_policy(const ActorCritic& networks) {
  const Transformer& actor = networks.actor();
  if (networks.lora()) return {actor.config(), networks.lora()->frozen(actor.weights())};
  return {actor.config(), actor.computed().clone()};
}

Replicas replicas_of(const LearnerConfig& config, Replica first) {
  if (config.gpus == 1) return {config.optimizer, std::move(first)};
  const std::vector<at::Device> devices = devices_of(config);
  auto group = make_rank_group({.devices = devices,
                                .threads = static_cast<int>(config.threads),
                                .timeout = config.rank_timeout});
  return {config.optimizer, std::move(first), std::span{devices}.subspan(1), std::move(group)};
}

TrainerState make_state(const TrainerSetup& setup, ModelConfig config, ModelWeights weights) {
  std::optional<LoraOrigin> lora;
  if (setup.learner.lora.rank > 0) {
    lora = {setup.learner.lora, setup.base, checksum_of(weights)};
  }
  ActorCritic networks =
      networks_of(setup, placed(std::move(config), std::move(weights), setup.learner));
  if (setup.critic) assign_critic(networks, *setup.critic);
  Replica first{std::move(networks), std::nullopt};
  if (setup.learner.loss.kl > 0) first.reference = initial_policy(first.networks);
  TrainerState state{.ranks = replicas_of(setup.learner, std::move(first))};
  state.lora = std::move(lora);
  state.mark.version = setup.start;
  state.restored = {{setup.start.incarnation, setup.start.step}};
  return state;
}

Error too_many(const char* what, const char* done, const FailureStreak& left_out,
               const char* remedy) {
  return {ErrorCode::infrastructure,
          fmt::format("learner: {} {} in a row were {}, as learner.max_skipped allows no more; the "
                      "last one: {}. The run can be resumed from its last checkpoint: {}",
                      left_out.in_a_row, what, done, left_out.last, remedy)};
}

}  // namespace

Trainer::Trainer(TrainerSetup setup, ModelConfig config, ModelWeights weights)
    : setup_(std::move(setup)),
      state_(make_state(setup_, std::move(config), std::move(weights))),
      running_(setup_.learner) {
  begin_step();
}

Result<void> Trainer::observe(const Segment& segment) {
  auto taken = running_.observe(segment, state_.networks(), state_.mark);
  if (taken) {
    state_.refused = {};
  } else if (taken.error().code == ErrorCode::parse_failed) {  // a gap follows from a refusal
    ++state_.refused.in_a_row;
    state_.refused.last = taken.error().message;
  }
  return taken;
}

void Trainer::forget(TrajectoryId id) {
  running_.forget(id);
  std::erase_if(closed_, [&](const TrainingItem& item) { return item.held.id == id; });
}

Result<void> Trainer::close(TrajectoryId id, const Outcome& outcome) {
  if (!running_.contains(id)) {
    return fail(ErrorCode::not_found, fmt::format("trajectory {} is not being observed", id));
  }
  if (!std::isfinite(outcome.reward)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("trajectory {}: its reward is not finite", id));
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
  progress.step->memory_peak_bytes = peak_bytes(device);
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
  const int64_t most = setup_.learner.max_skipped;
  if (state_.skipped.in_a_row >= most) {
    return too_many("updates", "skipped", state_.skipped,
                    "lower learner.optimizer.learning_rate or learner.optimizer.gradient_clip");
  }
  if (state_.refused.in_a_row >= most) {
    return too_many("segments", "refused", state_.refused,
                    "if the weights of that step give such numbers, resume from a checkpoint "
                    "before it");
  }
  return std::nullopt;
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

/// Publishes the weights at the start of the step.
void Trainer::begin_step() {
  const ModelWeights& newest = state_.networks().actor().computed();
  published_ = {state_.mark.version, std::make_shared<const ModelWeights>(newest.clone())};
  wait_for(newest.embed.device());  // readers use their own streams
  step_.emplace(setup_.learner, setup_.seed, first_policies());
}

std::vector<Transformer> Trainer::first_policies() const {
  std::vector<Transformer> all{{model_config(), *published_.weights}};
  // Unless a second minibatch is scored after an update, they are not used.
  const bool used = setup_.learner.step.minibatches > 1;
  for (size_t rank = 1; rank < state_.ranks.size(); ++rank) {
    const Transformer& now = state_.ranks[rank].networks.actor();
    all.push_back(used ? Transformer{model_config(), now.computed().clone()} : now);
  }
  return all;
}

}  // namespace warpsmith::policy
