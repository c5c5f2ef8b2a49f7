// SPDX-License-Identifier: Apache-2.0
// A trajectory in the learner: its segments joined and the scores of its tokens; once it is closed,
// also its advantages and the other per-token quantities for training.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/learn/advantage.hpp"
#include "runtime/policy_version.hpp"
#include "runtime/result.hpp"
#include "runtime/segment.hpp"
#include "runtime/trajectory.hpp"

namespace warpsmith::policy {

/// All arrays are (T), T tokens so far. Masked positions are 0.
struct HeldTrajectory {
  TrajectoryId id = 0;
  uint32_t next_segment = 0;
  std::vector<int32_t> tokens;
  std::vector<uint8_t> mask;
  std::vector<float> behaviour;         // log μ
  std::vector<PolicyVersion> versions;  // of the weights that sampled the token
  // For the first `scored` tokens: filled when segments arrive, or at first use.
  int64_t scored = 0;
  std::vector<float> proximal;        // log π_p
  std::vector<float> values;          // V of the state in which the token was chosen
  std::vector<uint8_t> same_weights;  // 1 where the weights that sampled the token gave π_p

  int64_t size() const { return static_cast<int64_t>(tokens.size()); }
  int64_t action_tokens() const;
  /// Tokens up to the last sampled one; later tokens affect no loss.
  int64_t useful_length() const;
  int64_t prompt_length() const;  // tokens before the first sampled one
  int64_t bytes() const;

  /// Joins the next segment. Returns false if it is already here. `parse_failed` for arrays of
  /// different lengths or values out of range, `invalid_argument` for a gap in the numbers or a
  /// trajectory that begins with a sampled token.
  Result<bool> append(const Segment& segment);
};

/// A checksum of the tokens before the first sampled one; equal for trajectories of one task.
uint64_t prompt_key(const HeldTrajectory& held);

/// Positions of sampled tokens within the trajectory, ascending.
std::vector<int64_t> action_positions(const HeldTrajectory& trajectory, int64_t from = 0);

/// A closed trajectory. N action tokens; per-token arrays are (N), in order.
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
