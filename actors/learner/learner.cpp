// SPDX-License-Identifier: Apache-2.0
// Takes segments and makes steps; learner_checkpoint.cpp makes the steps durable.
#include "actors/learner/learner.hpp"

#include "actors/base/ask.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "policy/learn/placement.hpp"
#include "policy/model/threads.hpp"

namespace warpsmith::actors {

void LearnerState::start(Self self, LearnerSettings settings, LedgerActor ledger,
                         LocalWeightStoreActor store) {
  self_ = self;
  settings_ = std::move(settings);
  watch_.emplace(settings_.warnings);
  ledger_ = std::move(ledger);
  store_ = std::move(store);
  policy::use_threads(settings_.threads);
  for (const SharedGpu& shared : settings_.shared) shares_.push_back(open_share(shared));
  auto made = in_turn(settings_.make_trainer);
  if (!made) throw ActorFailure(made.error());
  trainer_ = std::move(*made);
  last_checkpoint_ = trainer_->version().step;
  const Identity identity{label() + "-writer", tap()};
  writer_ =
      self_->spawn<caf::detached + caf::linked>(checkpoint_writer, identity, settings_.checkpoints);
  publish();
}

void LearnerState::publish() {
  const policy::WeightSnapshot newest = trainer_->weights();
  self_->send<caf::message_priority::high>(store_, LocalWeights{newest.version, newest.weights});
}

void LearnerState::wait_for_gpus() const {
  for (const SharedGpu& shared : settings_.shared) {
    if (!shared.gpu) continue;
    policy::wait_for(at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(*shared.gpu)));
  }
}

/// Without streamed forwards it only stores the segment.
Result<void> LearnerState::take(const Segment& segment) {
  if (!trainer_->streams()) return trainer_->observe(segment);
  return in_turn([&] { return trainer_->observe(segment); });
}

void LearnerState::observe(const Segment& segment) {
  if (auto taken = take(segment); !taken) {
    log::warn(label() + ": segment " + std::to_string(segment.number) + " of trajectory " +
              std::to_string(segment.trajectory) + ": " + taken.error().message);
    if (auto why = trainer_->halt()) throw ActorFailure(std::move(*why));
  }
}

void LearnerState::close(const Closed& closed) {
  if (auto taken = trainer_->close(closed.trajectory, closed.outcome); !taken) {
    log::warn(label() + ": trajectory " + std::to_string(closed.trajectory) + ": " +
              taken.error().message);
    record_drop({closed.trajectory, DropReason::infrastructure});
  }
  go_on();
}

void LearnerState::drop(const Dropped& dropped) {
  trainer_->forget(dropped.trajectory);
}

/// One message per pack, so that segments and status requests never wait for a whole step.
void LearnerState::go_on() {
  if (scheduled_ || recording_) return;
  if (!trainer_->has_work()) return finish_step_for_checkpoint();
  scheduled_ = true;
  self_->send(self_, atom::step_v);
}

void LearnerState::step(atom::step /*unused*/) {
  scheduled_ = false;
  if (recording_ || !trainer_->has_work()) return;
  handle(in_turn([this] { return trainer_->advance(); }));
  go_on();
}

bool LearnerState::flush(atom::flush /*unused*/) {
  if (recording_ || trainer_->has_work()) return true;  // the supervisor repeats its flush
  handle(in_turn([this] { return trainer_->flush(); }));
  return recording_;
}

void LearnerState::handle(policy::Progress progress) {
  for (const policy::DroppedTrajectory& dropped : progress.dropped) record_drop(dropped);
  if (progress.halt) throw ActorFailure(std::move(*progress.halt));
  if (progress.step) step_made(*progress.step);
}

void LearnerState::record_drop(const policy::DroppedTrajectory& dropped) {
  ask(self_, *this, "drop_recorded", ledger_, settings_.ledger_timeout,
      Dropped{dropped.id, dropped.reason, "dropped by the learner"})
      .then([](bool) {},
            [this](const caf::error& error) {
              log::warn(label() + ": drop not recorded: " + from_caf(error).message);
            });
}

void LearnerState::step_made(const policy::StepReport& report) {
  recording_ = true;
  publish();
  const auto before = std::exchange(last_numbers_, policy::numbers_of(report));
  if (settings_.planned_bytes > 0) {
    last_numbers_["memory_plan_bytes"] = static_cast<double>(settings_.planned_bytes);
  }
  warn_early(report, before);
  trained_tokens_ += report.forward_tokens;
  StepDone done{report.version, report.trained, last_numbers_};
  ask(self_, *this, "step_recorded", ledger_, settings_.ledger_timeout, std::move(done))
      .then([this](bool) { step_recorded(); },
            [](const caf::error& error) {
              const Error why = from_caf(error);
              throw ActorFailure({why.code, "step not recorded: " + why.message});
            });
}

void LearnerState::warn_early(const policy::StepReport& report, const Numbers& before) {
  for (size_t i = 0; i < policy::warning_count; ++i) {
    last_numbers_["warning." + std::string{to_string(static_cast<policy::Warning>(i))}] = 0;
  }
  for (const policy::Warning warning : watch_->observe(report)) {
    const std::string name{to_string(warning)};
    last_numbers_["warning." + name] = 1;
    const auto found = before.find("warning." + name);
    if (found != before.end() && found->second > 0) continue;
    const std::string text = name + " at step " + std::to_string(report.version.step);
    log::warn(label() + ": early warning: " + text);
    self_->send(ledger_, Event{"warning", label(), text});
  }
}

void LearnerState::describe(ActorStatus& status) const {
  const policy::TrainerStatus now = trainer_->status();
  status.phase = recording_ ? "recording" : now.waiting > 0 ? "stepping" : "collecting";
  status.queued = now.waiting;
  status.gauges = last_numbers_;
  status.gauges["step"] = trainer_->version().step;
  status.gauges["trained_tokens"] = static_cast<double>(trained_tokens_);
  status.gauges["running"] = static_cast<double>(now.running);
  status.gauges["held_bytes"] = static_cast<double>(now.bytes);
  status.gauges["host_bytes"] = static_cast<double>(now.host_bytes);
  status.gauges["offloaded_prefixes"] = static_cast<double>(now.offloaded_prefixes);
  status.gauges["released_prefixes"] = static_cast<double>(now.released_prefixes);
}

LearnerSelf::behavior_type learner(LearnerState::Self self, Identity identity,
                                   LearnerSettings settings, LedgerActor ledger,
                                   LocalWeightStoreActor store) {
  adopt(self, std::move(identity));
  self->state.report_to(settings.board);
  self->state.start(self, std::move(settings), std::move(ledger), std::move(store));
  return {on(self, "status", &LearnerState::status),
          on(self, "observe", &LearnerState::observe),
          on(self, "close", &LearnerState::close),
          on(self, "drop", &LearnerState::drop),
          on(self, "step", &LearnerState::step),
          on(self, "flush", &LearnerState::flush),
          on(self, "checkpoint", &LearnerState::checkpoint)};
}

}  // namespace warpsmith::actors
