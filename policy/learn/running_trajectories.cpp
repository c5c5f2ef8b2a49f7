// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/running_trajectories.hpp"

#include <algorithm>
#include <limits>
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
  if (*appended && config_.forwards == ForwardMode::streamed) score(running, networks, mark);
  return {};
}

void RunningTrajectories::score(Running& running, const ActorCritic& networks, WeightsMark mark) {
  if (running.held.size() == 0) return;
  if (!running.prefix) running.prefix.emplace(networks);
  running.prefix->extend(networks, running.held, mark, config_.refresh_prefix);
  release_prefixes();
}

void RunningTrajectories::release_prefixes() {
  const auto length = [](const auto& entry) {
    const auto& prefix = entry.second.prefix;
    return prefix ? prefix->length() : std::numeric_limits<int64_t>::max();
  };
  while (bytes() > config_.max_held_bytes) {
    const auto shortest = std::ranges::min_element(running_, {}, length);
    if (shortest == running_.end() || !shortest->second.prefix) return;
    shortest->second.prefix.reset();
    ++released_prefixes_;
  }
}

HeldTrajectory RunningTrajectories::take(TrajectoryId id) {
  HeldTrajectory held = std::move(running_.at(id).held);
  running_.erase(id);
  return held;
}

int64_t RunningTrajectories::bytes() const {
  int64_t total = 0;
  for (const auto& [id, running] : running_) {
    total += running.held.bytes() + (running.prefix ? running.prefix->bytes() : 0);
  }
  return total;
}

}  // namespace warpsmith::policy
