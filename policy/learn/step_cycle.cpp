// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/step_cycle.hpp"

#include <algorithm>

namespace warpsmith::policy {
namespace {

/// The size of the first `part` of `parts` equal parts of `total`, rounded up.
int64_t cut(int64_t total, int64_t part, int64_t parts) {
  return (total * part + parts - 1) / parts;
}

}  // namespace

StepCycle::StepCycle(StepConfig budget) : budget_(budget) {
  budget_.minibatches = std::min(budget_.minibatches, budget_.trajectories);
}

int64_t StepCycle::room() const {
  return cut(budget_.trajectories, minibatch_ + 1, budget_.minibatches) - trajectories_;
}

size_t StepCycle::end() const {
  const int64_t parts = std::min(budget_.minibatches, trajectories_);
  return static_cast<size_t>(cut(trajectories_, minibatch_ + 1, parts));
}

void StepCycle::add(int64_t trajectories, int64_t tokens) {
  since_update_ += trajectories;
  if (phase_ == StepPhase::repeating) {
    cursor_ += trajectories;
    return;
  }
  trajectories_ += trajectories;
  tokens_ += tokens;
}

bool StepCycle::update_due() const {
  if (phase_ == StepPhase::repeating) return cursor() == end();
  if (phase_ == StepPhase::finished) return false;
  if (closed_) return true;
  return since_update_ > 0 &&
         (room() <= 0 || tokens_ >= cut(budget_.tokens, minibatch_ + 1, budget_.minibatches));
}

void StepCycle::updated() {
  since_update_ = 0;
  ++minibatch_;
  const bool collected_all = closed_ || minibatch_ == budget_.minibatches ||
                             trajectories_ >= budget_.trajectories || tokens_ >= budget_.tokens;
  const bool repeated_all = cursor_ == trajectories_;
  if (phase_ == StepPhase::collecting ? collected_all : repeated_all) next_epoch();
}

void StepCycle::next_epoch() {
  ++epoch_;
  minibatch_ = 0;
  cursor_ = 0;
  phase_ = epoch_ == budget_.epochs ? StepPhase::finished : StepPhase::repeating;
}

}  // namespace warpsmith::policy
