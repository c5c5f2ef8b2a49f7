// SPDX-License-Identifier: Apache-2.0
// The phases of one optimiser step: trajectories are collected, then reused; and their split over
// the ranks. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/config/learner_config.hpp"

namespace warpsmith::policy {

/// Each comment says what happens next.
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

/// Splits the trajectories of one pass by tokens into packs, one for each rank.
class PackSplit {
 public:
  PackSplit(size_t ranks, int64_t pack_tokens) : tokens_(ranks, 0), pack_tokens_(pack_tokens) {}

  /// The rank whose pack takes the next trajectory, of that many tokens: the one with the fewest so
  /// far. Empty if it does not fit there; a pack without a trajectory takes any.
  std::optional<size_t> rank_for(int64_t tokens) const {
    const auto least = std::min_element(tokens_.begin(), tokens_.end());
    if (*least > 0 && *least + tokens > pack_tokens_) return std::nullopt;
    return static_cast<size_t>(least - tokens_.begin());
  }
  void add(size_t rank, int64_t tokens) { tokens_[rank] += tokens; }

 private:
  std::vector<int64_t> tokens_;
  int64_t pack_tokens_;
};

}  // namespace warpsmith::policy
