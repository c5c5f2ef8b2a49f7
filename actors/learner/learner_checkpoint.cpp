// SPDX-License-Identifier: Apache-2.0
// How steps become durable: the ledger records a step, then its checkpoint may be written.
#include "actors/base/ask.hpp"
#include "actors/learner/learner.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"

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

Result<std::string> LearnerState::write_checkpoint() {
  const auto written = settings_.checkpoints->write(
      trainer_->version(), [this](const std::filesystem::path& folder) -> Result<void> {
        if (auto saved = trainer_->save(folder); !saved) return saved;
        return settings_.copy_fixed_files(folder);
      });
  if (!written) return tl::unexpected(written.error());
  log::info(label() + ": " + written->folder.string());
  return written->folder.string();
}

/// Writes a checkpoint if there is a newer step, and answers all askers once the ledger has it.
void LearnerState::settle_checkpoint() {
  if (settling_) return;  // the pending answer serves all askers
  const uint32_t step = trainer_->version().step;
  if (step == last_checkpoint_) {
    return answer_askers(step == 0 ? "" : settings_.checkpoints->path_of(step).string());
  }
  auto folder = write_checkpoint();
  if (!folder) return answer_askers(folder);
  last_checkpoint_ = step;
  settling_ = true;
  ask(self_, *this, "checkpoint_recorded", ledger_, settings_.ledger_timeout, atom::checkpoint_v,
      trainer_->version())
      .then(
          [this, folder](bool) {
            const auto pruned = settings_.checkpoints->prune(settings_.keep_checkpoints);
            if (!pruned) log::warn(label() + ": " + pruned.error().message);
            answer_askers(folder);
          },
          [this](const caf::error& error) { answer_askers(tl::unexpected(from_caf(error))); });
}

void LearnerState::answer_askers(const Result<std::string>& folder) {
  if (!folder) log::error(label() + ": checkpoint: " + folder.error().message);
  settling_ = false;
  for (Promise& asker : std::exchange(askers_, {})) {
    if (folder) {
      asker.deliver(*folder);
    } else {
      asker.deliver(to_caf(folder.error()));
    }
  }
}

caf::result<std::string> LearnerState::checkpoint(atom::checkpoint /*unused*/) {
  askers_.push_back(self_->make_response_promise<std::string>());
  Promise promise = askers_.back();
  if (!recording_ && !trainer_->mid_step()) settle_checkpoint();
  go_on();
  return promise;
}

/// Nothing can be saved within a step, and no more trajectories may come to complete it.
void LearnerState::finish_step_for_checkpoint() {
  if (!askers_.empty() && trainer_->mid_step()) handle(trainer_->flush());
}

}  // namespace warpsmith::actors
