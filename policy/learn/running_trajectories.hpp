// SPDX-License-Identifier: Apache-2.0
// Trajectories whose segments are still arriving. Streamed forwards compute the values and proximal
// log-probabilities of each segment as it arrives and keep the prefix, so that only the gradient is
// left to compute when the trajectory ends.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "policy/learn/actor_critic.hpp"
#include "policy/learn/held_trajectory.hpp"
#include "policy/model/sequence_cache.hpp"
#include "runtime/config/learner_config.hpp"
#include "runtime/trajectory.hpp"

namespace warpsmith::policy {

/// The keys and values of one trajectory's tokens so far, for policy and critic.
class KeptPrefix {
 public:
  explicit KeptPrefix(const ActorCritic& networks);

  int64_t length() const { return policy_.length(); }
  /// Bytes on the device that computes, now or once `tokens` are kept.
  int64_t bytes() const { return bytes_with(length()); }
  int64_t bytes_with(int64_t tokens) const;
  /// Bytes of host memory, after a move there.
  int64_t host_bytes_with(int64_t tokens) const;
  void move_to_host();

  /// Runs the tokens of `held` beyond the kept ones, and fills its proximal log-probabilities and
  /// values from token `scored` on. With `refresh`, recomputes a prefix of older weights first,
  /// which makes π_p exact; otherwise keeps its keys and values, as the generator does. A critic
  /// with its own body computes on `critic_stream`: few queries over a long prefix leave room on a
  /// GPU.
  void extend(const ActorCritic& networks, HeldTrajectory& held, WeightsMark mark, bool refresh,
              const SideStream& critic_stream);

 private:
  /// Clears the caches; they stay on their device.
  void restart();
  /// The kept last row, if any, and the hidden states of the tokens of `held` after it.
  at::Tensor continue_body(const Transformer& body, SequenceCache& cache, at::Tensor& last,
                           const HeldTrajectory& held) const;
  /// The rows of the policy and of the values; those of a shared body are the same.
  std::array<at::Tensor, 2> continue_bodies(const ActorCritic& networks, const HeldTrajectory& held,
                                            const SideStream& critic_stream);

  ModelConfig config_;
  at::TensorOptions computed_;  // type and device
  SequenceCache policy_;
  std::optional<SequenceCache> critic_;
  at::Tensor policy_last_;  // (1, H) hidden state of the last token; undefined at the start
  at::Tensor critic_last_;
  uint64_t oldest_updates_ = 0;  // WeightsMark::updates of the oldest part's weights
};

/// The kept prefix of a running trajectory.
struct PrefixSize {
  TrajectoryId id = 0;
  int64_t tokens = 0;
  int64_t bytes = 0;  // in the memory that is bounded
};

/// The prefixes to evict so that the others take at most `bound` bytes, cheapest first. Recomputing
/// a prefix costs a forward pass over it, a + b T per token, so the shortest is the cheapest. No
/// prefix is evicted unless its memory is needed. `needed` is evicted only if it exceeds the bound
/// by itself.
std::vector<TrajectoryId> prefixes_to_evict(std::vector<PrefixSize> kept, int64_t bound,
                                            std::optional<TrajectoryId> needed = std::nullopt);

/// Holds trajectories until they are taken or forgotten. With streamed forwards, the kept prefixes
/// are bounded: beyond `max_held_bytes` of the learner's device, those that are cheapest to
/// recompute move to host memory, up to `max_offloaded_bytes` there, if `learner.offload` allows
/// it, and are released otherwise.
class RunningTrajectories {
 public:
  explicit RunningTrajectories(const LearnerConfig& config) : config_(config) {}

  /// Joins a segment to its trajectory and scores it if forwards are streamed. A segment that is
  /// already here changes nothing. After an error the whole trajectory is forgotten, because
  /// without the segment the reward would count on a token that is not the last. `parse_failed` for
  /// impossible content, `invalid_argument` for a gap in the numbers.
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
  // One for all prefixes, because each stream keeps its own memory.
  std::optional<SideStream> critic_stream_;
  std::map<TrajectoryId, Running> running_;
  int64_t offloaded_prefixes_ = 0;
  int64_t released_prefixes_ = 0;
};

}  // namespace warpsmith::policy
