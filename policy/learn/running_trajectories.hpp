// SPDX-License-Identifier: Apache-2.0
// Trajectories whose segments still arrive, and the streamed forwards over them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "policy/learn/prefix_bound.hpp"
#include "policy/learn/streaming_forward.hpp"
#include "runtime/config/learner_config.hpp"

namespace warpsmith::policy {

/// Holds trajectories until they are taken or forgotten. With streamed forwards, the kept prefixes
/// are bounded: beyond `max_held_bytes` of the learner's device, those that cost least to redo move
/// to host memory, up to `max_offloaded_bytes` there, if `learner.offload` says so, and are
/// released otherwise. See prefix_bound.hpp.
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
  /// The bytes of prefixes on the learner's device.
  int64_t bytes() const;
  int64_t host_bytes() const;
  /// Prefixes moved to host memory so far, and prefixes released so far, because of the bounds.
  int64_t offloaded_prefixes() const { return offloaded_prefixes_; }
  int64_t released_prefixes() const { return released_prefixes_; }

 private:
  struct Running {
    HeldTrajectory held;
    std::optional<KeptPrefix> prefix;
    bool streams = true;  // false: no prefix of it fits, so it is scored at its first use
  };
  using Bytes = int64_t (KeptPrefix::*)(int64_t tokens) const;

  void score(TrajectoryId id, const ActorCritic& networks, WeightsMark mark);
  void make_room(TrajectoryId growing);
  std::vector<PrefixSize> sizes(Bytes bytes) const;
  void release(const std::vector<TrajectoryId>& ids, TrajectoryId growing);
  int64_t sum(Bytes bytes) const;

  LearnerConfig config_;
  std::optional<SideStream>
      beside_;  // one for all prefixes, since each stream keeps its own memory
  std::map<TrajectoryId, Running> running_;
  int64_t offloaded_prefixes_ = 0;
  int64_t released_prefixes_ = 0;
};

}  // namespace warpsmith::policy
