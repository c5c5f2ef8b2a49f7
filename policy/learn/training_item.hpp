// SPDX-License-Identifier: Apache-2.0
// A closed trajectory and its per-token quantities for training.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/learn/advantage.hpp"
#include "policy/learn/held_trajectory.hpp"
#include "runtime/trajectory.hpp"

namespace warpsmith::policy {

/// N action tokens; per-token arrays are (N), in order.
struct TrainingItem {
  HeldTrajectory held;
  Outcome outcome;
  double reward = 0;               // after the overlong penalty
  double baseline = 0;             // the prompt's mean reward at closing; 0 if unused
  std::vector<int64_t> actions;    // positions of the action tokens
  std::vector<float> advantages;   // empty until the first use
  std::vector<float> targets;      // λ-returns, including the baseline
  std::vector<float> reference;    // log π_ref; empty without a KL term
  std::vector<uint32_t> lags;      // at first use
  std::vector<uint8_t> trainable;  // m: 1 where the lag is within the bound

  int64_t token_count() const { return static_cast<int64_t>(actions.size()); }
};

TrainingItem make_item(HeldTrajectory held, Outcome outcome, double reward);

/// Sets lags against version `current`, and m = 0 where the lag exceeds `max_lag`. Returns the
/// number of tokens with m = 1.
int64_t mark_stale(TrainingItem& item, PolicyVersion current, const RestoredSteps& restored,
                   int64_t max_lag);

/// Computes advantages (divided by `divisor`) and targets from the item's values, with the reward
/// on the last action token.
void compute_advantages(TrainingItem& item, const AdvantageConfig& config, double divisor);

}  // namespace warpsmith::policy
