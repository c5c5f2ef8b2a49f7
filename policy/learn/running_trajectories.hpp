// SPDX-License-Identifier: Apache-2.0
// Trajectories whose segments still arrive, and the streamed forwards over them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "policy/learn/streaming_forward.hpp"
#include "runtime/config/learner_config.hpp"

namespace warpsmith::policy {

/// Holds trajectories until they are taken or forgotten. With streamed forwards, the kept prefixes
/// are bounded: beyond `max_held_bytes` the shortest are released, which cost least to compute
/// again when they are needed.
class RunningTrajectories {
 public:
  explicit RunningTrajectories(const LearnerConfig& config) : config_(config) {}

  /// Joins a segment to its trajectory and scores it if forwards are streamed. A segment that is
  /// already here changes nothing. After an error the whole trajectory is forgotten: without the
  /// segment, the reward would fall on a token that is not the last. `parse_failed` for impossible
  /// content, `invalid_argument` for a gap in the numbers.
  Result<void> observe(const Segment& segment, const ActorCritic& networks, WeightsMark mark);

  void forget(TrajectoryId id) { running_.erase(id); }
  bool contains(TrajectoryId id) const { return running_.contains(id); }
  /// Hands over a trajectory that `contains` confirms, and releases its prefix.
  HeldTrajectory take(TrajectoryId id);
  void clear() { running_.clear(); }

  size_t size() const { return running_.size(); }
  int64_t bytes() const;
  /// Prefixes released so far because of the bound.
  int64_t released_prefixes() const { return released_prefixes_; }

 private:
  struct Running {
    HeldTrajectory held;
    std::optional<KeptPrefix> prefix;
  };

  void score(Running& running, const ActorCritic& networks, WeightsMark mark);
  void release_prefixes();

  LearnerConfig config_;
  std::map<TrajectoryId, Running> running_;
  int64_t released_prefixes_ = 0;
};

}  // namespace warpsmith::policy
