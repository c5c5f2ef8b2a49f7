// SPDX-License-Identifier: Apache-2.0
// One step's course: trajectories are collected as they come, then used again. Pure counting.
#pragma once

#include <cstddef>
#include <cstdint>

namespace warpsmith::policy {

struct StepBudget {
  int64_t trajectories = 32;  // a step collects until one of the two is met
  int64_t tokens = 1 << 20;   // action tokens
  int64_t minibatches = 1;    // optimiser updates per epoch
  int64_t epochs = 1;         // uses of each trajectory
};

/// Who acts next is written beside each phase.
enum class StepPhase : uint8_t {
  collecting,  // waits for closed trajectories; each is used at once
  repeating,   // the trainer itself: later epochs over the step's trajectories
  finished,    // the trainer: report, then a new cycle
};

class StepCycle {
 public:
  explicit StepCycle(StepBudget budget);

  StepPhase phase() const { return phase_; }
  int64_t epoch() const { return epoch_; }
  bool is_last_epoch() const { return epoch_ + 1 == budget_.epochs; }
  int64_t collected() const { return trajectories_; }

  /// Collecting: how many trajectories still fit before the next update.
  int64_t room() const;
  /// Repeating: positions [cursor, end) of the epoch's order that the current update still needs.
  size_t cursor() const { return static_cast<size_t>(cursor_); }
  size_t end() const;

  /// The gradient of that many trajectories and action tokens was added.
  void add(int64_t trajectories, int64_t tokens);
  /// No more will come: what is collected is the whole step.
  void close() { closed_ = trajectories_ > 0; }
  /// True when the gradient of a minibatch is complete.
  bool update_due() const;
  /// The optimiser has stepped.
  void updated();

 private:
  void next_epoch();

  StepBudget budget_;
  StepPhase phase_ = StepPhase::collecting;
  int64_t trajectories_ = 0;  // collected in this step
  int64_t tokens_ = 0;
  int64_t since_update_ = 0;  // trajectories
  int64_t epoch_ = 0;
  int64_t minibatch_ = 0;
  int64_t cursor_ = 0;
  bool closed_ = false;
};

}  // namespace warpsmith::policy
