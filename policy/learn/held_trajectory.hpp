// SPDX-License-Identifier: Apache-2.0
// A trajectory in the learner: its segments joined, and the scores of its tokens.
#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace warpsmith::policy
