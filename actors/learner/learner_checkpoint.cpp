// SPDX-License-Identifier: Apache-2.0
// How steps become durable: the ledger records a step, then its checkpoint may be written.
#include "actors/base/ask.hpp"
#include "actors/learner/learner.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "policy/learn/trainer_checkpoint.hpp"

namespace warpsmith::actors {

/// The ledger has the step: its checkpoint may be written and the next step may begin.
void LearnerState::step_recorded() {
  recording_ = false;
  if (checkpoint_due() || !askers_.empty()) settle_checkpoint();
  go_on();
}

bool LearnerState::checkpoint_due() const {
  return trainer_->version().step >= last_checkpoint_ + settings_.checkpoint_steps;
}

/// Has a checkpoint written if there is a newer step, and answers the askers once the ledger has
/// it.
void LearnerState::settle_checkpoint() {
  if (settling_) return;  // its end answers the askers or begins the next one
  const uint32_t step = trainer_->version().step;
  if (step == last_checkpoint_) {
    return answer_askers(step,
                         step == 0 ? "" : settings_.checkpoints.store->path_of(step).string());
  }
  if (written_ && written_->step == step) return record_checkpoint(*written_);
  const auto taken = in_turn([this] { return trainer_->snapshot(); });
  if (!taken) return checkpoint_failed(taken.error());
  settling_ = true;
  ask(self_, *this, "checkpoint_written", writer_, settings_.write_timeout,
      LocalSnapshot{std::make_shared<const policy::TrainerSnapshot>(*taken)})
      .then([this, version = taken->version()](
                const std::string& /*folder*/) { record_checkpoint(version); },
            [this](const caf::error& error) { checkpoint_failed(from_caf(error)); });
}

/// A checkpoint on disk counts once the ledger has it.
void LearnerState::record_checkpoint(PolicyVersion version) {
  written_ = version;
  settling_ = true;
  ask(self_, *this, "checkpoint_recorded", ledger_, settings_.ledger_timeout, atom::checkpoint_v,
      version)
      .then(
          [this, version](bool) {
            last_checkpoint_ = version.step;
            const auto pruned = settings_.checkpoints.store->prune(settings_.keep_checkpoints);
            if (!pruned) log::warn(label() + ": " + pruned.error().message);
            settling_ = false;
            answer_askers(version.step,
                          settings_.checkpoints.store->path_of(version.step).string());
          },
          [this](const caf::error& error) { checkpoint_failed(from_caf(error)); });
}

void LearnerState::checkpoint_failed(const Error& error) {
  log::error(label() + ": checkpoint: " + error.message);
  settling_ = false;
  answer_askers(trainer_->version().step, tl::unexpected(error));
}

void LearnerState::answer_askers(uint32_t step, const Result<std::string>& folder) {
  for (Asker& asker : std::exchange(askers_, {})) {
    if (asker.step > step) {
      askers_.push_back(std::move(asker));
    } else if (folder) {
      asker.promise.deliver(*folder);
    } else {
      asker.promise.deliver(to_caf(folder.error()));
    }
  }
  if (!askers_.empty() && !recording_ && !trainer_->mid_step()) settle_checkpoint();
}

caf::result<std::string> LearnerState::checkpoint(atom::checkpoint /*unused*/) {
  const auto promise = self_->make_response_promise<std::string>();
  askers_.push_back({promise, trainer_->version().step + (trainer_->mid_step() ? 1U : 0U)});
  if (!recording_ && !trainer_->mid_step()) settle_checkpoint();
  go_on();
  return promise;
}

/// Nothing can be saved within a step, and no more trajectories may come to complete it.
void LearnerState::finish_step_for_checkpoint() {
  if (askers_.empty() || !trainer_->mid_step()) return;
  handle(in_turn([this] { return trainer_->flush(); }));
}

}  // namespace warpsmith::actors
