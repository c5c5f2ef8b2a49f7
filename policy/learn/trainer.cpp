// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "policy/learn/learner_parts.hpp"
#include "policy/learn/parameter_groups.hpp"

namespace warpsmith::policy {
namespace {

CriticOptions critic_options(const TrainerSetup& setup) {
  return {.kind = setup.learner.critic,
          .stop_gradient = setup.learner.critic_stop_gradient,
          .temperature = setup.temperature};
}

std::optional<Transformer> reference_of(const TrainerSetup& setup, const ModelConfig& config,
                                        const ModelWeights& weights,
                                        const std::optional<ModelWeights>& reference) {
  if (setup.learner.kl <= 0) return std::nullopt;
  return Transformer{config, (reference ? *reference : weights).clone()};
}

Result<void> check_vocabulary(const Segment& segment, int64_t vocab) {
  const auto bad = std::find_if(segment.tokens.begin(), segment.tokens.end(),
                                [&](int32_t token) { return token >= vocab; });
  if (bad == segment.tokens.end()) return {};
  return fail(ErrorCode::parse_failed, "segment " + std::to_string(segment.number) +
                                           " of trajectory " + std::to_string(segment.trajectory) +
                                           ": token " + std::to_string(*bad) +
                                           " is beyond the vocabulary of " + std::to_string(vocab));
}

}  // namespace

Trainer::Trainer(TrainerSetup setup, ModelConfig config, ModelWeights weights,
                 const std::optional<ModelWeights>& reference)
    : setup_(setup),
      networks_(std::move(config), std::move(weights), critic_options(setup_)),
      optimiser_(adamw_config(setup_.learner), parameter_groups(networks_)),
      accumulator_(setup_.learner, reference_of(setup_, networks_.config(),
                                                networks_.actor().weights(), reference)),
      mark_{.version = setup_.start},
      cycle_(step_budget(setup_.learner)) {
  publish();
}

Result<void> Trainer::observe(const Segment& segment) {
  Running& running = running_[segment.trajectory];
  running.held.id = segment.trajectory;
  Result<bool> appended = false;
  if (auto known = check_vocabulary(segment, networks_.config().vocab); !known) {
    appended = tl::unexpected(std::move(known.error()));
  } else {
    appended = running.held.append(segment);
  }
  if (!appended) {
    // Without it the outcome's reward would fall on a token that is not the last.
    running_.erase(segment.trajectory);
    return tl::unexpected(std::move(appended.error()));
  }
  if (*appended && setup_.learner.forwards == ForwardMode::streamed) stream(running);
  return {};
}

void Trainer::stream(Running& running) {
  if (running.held.size() == 0) return;
  if (!running.prefix) running.prefix.emplace(networks_);
  running.prefix->extend(networks_, running.held, mark_, setup_.learner.refresh_prefix);
  if (held_bytes() <= setup_.learner.max_held_bytes) return;
  running.prefix.reset();
  ++released_prefixes_;
}

void Trainer::forget(TrajectoryId id) {
  running_.erase(id);
  std::erase_if(waiting_, [&](const TrainingItem& item) { return item.held.id == id; });
}

Result<void> Trainer::close(TrajectoryId id, const Outcome& outcome) {
  const auto found = running_.find(id);
  if (found == running_.end()) {
    return fail(ErrorCode::not_found,
                "trajectory " + std::to_string(id) + " is not being observed");
  }
  if (!std::isfinite(outcome.reward)) {
    return fail(ErrorCode::invalid_argument,
                "trajectory " + std::to_string(id) + ": its reward is not finite");
  }
  waiting_.push_back(make_training_item(std::move(found->second.held), outcome));
  running_.erase(found);
  return {};
}

TrainingItem Trainer::make_training_item(HeldTrajectory held, const Outcome& outcome) const {
  const LearnerConfig& c = setup_.learner;
  const double penalty =
      overlong_penalty(held.action_tokens(), c.overlong_limit, c.overlong_margin);
  const double baseline = c.prompt_baseline ? prompts_.of(prompt_key(held)) : 0.0;
  TrainingItem item = make_item(std::move(held), outcome, outcome.reward + penalty);
  item.baseline = baseline;
  return item;
}

Progress Trainer::flush() {
  Progress all;
  while (!all.step && has_work()) {
    Progress one = advance();
    all.step = std::move(one.step);
    all.dropped.insert(all.dropped.end(), one.dropped.begin(), one.dropped.end());
  }
  if (all.step || cycle_.collected() == 0) return all;
  cycle_.close();
  while (!all.step) all.step = advance().step;
  return all;
}

TrainerStatus Trainer::status() const {
  return {.running = running_.size(),
          .waiting = waiting_.size(),
          .bytes = held_bytes(),
          .released_prefixes = released_prefixes_};
}

int64_t Trainer::held_bytes() const {
  int64_t total = 0;
  for (const auto& [id, running] : running_) {
    total += running.held.bytes() + (running.prefix ? running.prefix->bytes() : 0);
  }
  return total;
}

}  // namespace warpsmith::policy
