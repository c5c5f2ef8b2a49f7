// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/running_trajectories.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace warpsmith::policy {
namespace {

Result<void> check_vocabulary(const Segment& segment, int64_t vocab) {
  const auto bad = std::find_if(segment.tokens.begin(), segment.tokens.end(),
                                [&](int32_t token) { return token >= vocab; });
  if (bad == segment.tokens.end()) return {};
  return fail(ErrorCode::parse_failed, "segment " + std::to_string(segment.number) +
                                           " of trajectory " + std::to_string(segment.trajectory) +
                                           ": token " + std::to_string(*bad) +
                                           " is beyond the vocabulary of " + std::to_string(vocab));
}

Result<bool> append(HeldTrajectory& held, const Segment& segment, int64_t vocab) {
  if (auto known = check_vocabulary(segment, vocab); !known) return tl::unexpected(known.error());
  return held.append(segment);
}

}  // namespace

Result<void> RunningTrajectories::observe(const Segment& segment, const ActorCritic& networks,
                                          WeightsMark mark) {
  Running& running = running_[segment.trajectory];
  running.held.id = segment.trajectory;
  auto appended = append(running.held, segment, networks.config().vocab);
  if (!appended) {
    running_.erase(segment.trajectory);
    return tl::unexpected(std::move(appended.error()));
  }
  if (*appended && config_.forwards == ForwardMode::streamed) {
    score(segment.trajectory, networks, mark);
  }
  return {};
}

void RunningTrajectories::score(TrajectoryId id, const ActorCritic& networks, WeightsMark mark) {
  Running& running = running_.at(id);
  if (running.held.size() == 0 || !running.streams) return;
  if (!running.prefix) running.prefix.emplace(networks);
  make_room(id);
  if (!beside_) beside_.emplace(networks.actor().computed().embed.device());
  if (running.prefix) {
    running.prefix->extend(networks, running.held, mark, config_.refresh_prefix, *beside_);
  }
}

/// What each prefix takes once the segments at hand are scored.
std::vector<PrefixSize> RunningTrajectories::sizes(Bytes bytes) const {
  std::vector<PrefixSize> all;
  for (const auto& [id, running] : running_) {
    if (!running.prefix) continue;
    const int64_t tokens = running.held.size();
    all.push_back({id, tokens, ((*running.prefix).*bytes)(tokens)});
  }
  return all;
}

/// One in host memory goes on growing there; one that was released would have to be run again.
void RunningTrajectories::make_room(TrajectoryId growing) {
  const std::vector<PrefixSize> here = sizes(&KeptPrefix::bytes_with);
  if (!config_.offloads(Offload::kept_prefixes)) {
    release(prefixes_to_give_up(here, config_.max_held_bytes, growing), growing);
    return;
  }
  for (const TrajectoryId id : prefixes_to_give_up(here, config_.max_held_bytes)) {
    running_.at(id).prefix->move_to_host();
    ++offloaded_prefixes_;
  }
  release(prefixes_to_give_up(sizes(&KeptPrefix::host_bytes_with), config_.max_offloaded_bytes,
                              growing),
          growing);
}

/// A growing trajectory whose prefix alone is beyond a bound would be run whole again for each of
/// its segments; instead its first gradient scores it.
void RunningTrajectories::release(const std::vector<TrajectoryId>& ids, TrajectoryId growing) {
  for (const TrajectoryId id : ids) {
    Running& running = running_.at(id);
    running.prefix.reset();
    ++released_prefixes_;
    if (id != growing) continue;
    running.streams = false;
    running.held.scored = 0;
  }
}

HeldTrajectory RunningTrajectories::take(TrajectoryId id) {
  HeldTrajectory held = std::move(running_.at(id).held);
  running_.erase(id);
  return held;
}

int64_t RunningTrajectories::sum(Bytes bytes) const {
  int64_t total = 0;
  for (const auto& [id, running] : running_) {
    if (running.prefix) total += ((*running.prefix).*bytes)(running.prefix->length());
  }
  return total;
}

int64_t RunningTrajectories::bytes() const {
  return sum(&KeptPrefix::bytes_with);
}

int64_t RunningTrajectories::host_bytes() const {
  return sum(&KeptPrefix::host_bytes_with);
}

}  // namespace warpsmith::policy
