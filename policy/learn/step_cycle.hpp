// SPDX-License-Identifier: Apache-2.0
// The phases of one optimiser step: trajectories are collected, then used again. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/config/learner_config.hpp"

namespace warpsmith::policy {

/// What happens next stands beside each phase.
enum class StepPhase : uint8_t {
  collecting,  // the next closed trajectory is used; the step waits for it
  repeating,   // the next pack of a later epoch is used; nothing to wait for
  finished,    // the step is reported, and the next one begins
};

/// Counts the trajectories and tokens of one step, and says when an update is due.
class StepCycle {
 public:
  explicit StepCycle(StepConfig budget);

  StepPhase phase() const { return phase_; }
  int64_t epoch() const { return epoch_; }
  bool is_last_epoch() const { return epoch_ + 1 == budget_.epochs; }
  int64_t collected() const { return trajectories_; }

  /// Collecting: how many trajectories fit before the next update.
  int64_t room() const;
  /// Repeating: the next update needs positions [cursor, end) of the epoch's order.
  size_t cursor() const { return static_cast<size_t>(cursor_); }
  size_t end() const;

  /// Call after the gradient of that many trajectories and action tokens was added.
  void add(int64_t trajectories, int64_t tokens);
  /// Ends collecting: the step consists of what was collected. No effect if that is nothing.
  void close() { closed_ = trajectories_ > 0; }
  /// True when the gradient of a minibatch is complete.
  bool update_due() const;
  /// Call after each optimiser update.
  void updated();

 private:
  void next_epoch();

  StepConfig budget_;
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
