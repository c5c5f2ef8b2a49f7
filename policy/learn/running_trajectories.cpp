// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/running_trajectories.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <ranges>
#include <string>
#include <utility>

#include "policy/learn/critic_head.hpp"

namespace warpsmith::policy {
namespace {

std::optional<SequenceCache> critic_cache(const ActorCritic& networks,
                                          const at::TensorOptions& computed) {
  if (!networks.has_own_critic_body()) return std::nullopt;
  return SequenceCache{networks.config(), computed};
}

Result<void> check_vocabulary(const Segment& segment, int64_t vocab) {
  const auto bad = std::find_if(segment.tokens.begin(), segment.tokens.end(),
                                [&](int32_t token) { return token >= vocab; });
  if (bad == segment.tokens.end()) return {};
  return fail(ErrorCode::parse_failed,
              fmt::format("segment {} of trajectory {}: token {} is beyond the vocabulary of {}",
                          segment.number, segment.trajectory, *bad, vocab));
}

Result<bool> append(HeldTrajectory& held, const Segment& segment, int64_t vocab) {
  TRY_VOID(check_vocabulary(segment, vocab));
  return held.append(segment);
}

}  // namespace

KeptPrefix::KeptPrefix(const ActorCritic& networks)
    : config_(networks.config()),
      computed_(networks.actor().computed().embed.options()),
      policy_(config_, computed_),
      critic_(critic_cache(networks, computed_)) {}

int64_t KeptPrefix::bytes_with(int64_t tokens) const {
  return policy_.bytes_with(tokens) + (critic_ ? critic_->bytes_with(tokens) : 0);
}

int64_t KeptPrefix::host_bytes_with(int64_t tokens) const {
  return policy_.host_bytes_with(tokens) + (critic_ ? critic_->host_bytes_with(tokens) : 0);
}

void KeptPrefix::move_to_host() {
  policy_.move_to_host();
  if (critic_) critic_->move_to_host();
}

void KeptPrefix::restart() {
  const bool was_on_host = policy_.is_on_host();
  policy_ = SequenceCache{config_, computed_};
  if (critic_) critic_ = SequenceCache{config_, computed_};
  if (was_on_host) move_to_host();
  policy_last_ = at::Tensor();
  critic_last_ = at::Tensor();
}

at::Tensor KeptPrefix::continue_body(const Transformer& body, SequenceCache& cache,
                                     at::Tensor& last, const HeldTrajectory& held) const {
  const std::vector<int32_t> tokens(held.tokens.begin() + cache.length(), held.tokens.end());
  const std::array<SequenceCache*, 1> caches{&cache};
  const at::Tensor hidden = body.forward(pack_sequences(std::array{tokens}), caches);
  const at::Tensor rows = last.defined() ? at::cat({last, hidden}, 0) : hidden;
  last = hidden.narrow(0, hidden.size(0) - 1, 1).clone();
  return rows;
}

std::array<at::Tensor, 2> KeptPrefix::continue_bodies(const ActorCritic& networks,
                                                      const HeldTrajectory& held,
                                                      const SideStream& critic_stream) {
  if (!critic_) {
    const at::Tensor rows = continue_body(networks.actor(), policy_, policy_last_, held);
    return {rows, rows};
  }
  critic_->make_room(held.size() - critic_->length());
  at::Tensor values;
  const SideStream::Mark valued = critic_stream.run(
      [&] { values = continue_body(networks.critic_body(), *critic_, critic_last_, held); });
  const at::Tensor rows = continue_body(networks.actor(), policy_, policy_last_, held);
  critic_stream.join(valued);
  return {rows, values};
}

void KeptPrefix::extend(const ActorCritic& networks, HeldTrajectory& held, WeightsMark mark,
                        bool refresh, const SideStream& critic_stream) {
  const at::NoGradGuard no_grad;
  if (held.size() == held.scored) return;
  if (refresh && oldest_updates_ != mark.updates) restart();
  if (length() == 0) oldest_updates_ = mark.updates;
  // Row r is the hidden state at token first + r, which scores the next token.
  const int64_t first = length() == 0 ? 0 : length() - 1;
  const auto [rows, value_rows] = continue_bodies(networks, held, critic_stream);
  const std::vector<int64_t> actions = action_positions(held, held.scored);
  const at::Tensor surprise =
      networks.reads_surprise() ? surprise_rows(surprises(held, held.scored)) : at::Tensor();
  held.scored = held.size();
  if (actions.empty()) return;
  std::vector<int64_t> from;
  std::vector<int64_t> targets;
  for (const int64_t t : actions) {
    from.push_back(t - 1 - first);
    targets.push_back(held.tokens[static_cast<size_t>(t)]);
  }
  const at::Tensor at = index_tensor(from).to(rows.device());
  const CriticRows critic{value_rows.index_select(0, at), surprise};
  const TokenEvaluation scored =
      networks.score(rows.index_select(0, at), critic, index_tensor(targets));
  const bool exact = oldest_updates_ == mark.updates;
  record_values(held, actions, scored.value);
  record_log_probs(held, actions, scored.log_prob, exact ? mark : WeightsMark{.published = false});
}

std::vector<TrajectoryId> prefixes_to_evict(std::vector<PrefixSize> kept, int64_t bound,
                                            std::optional<TrajectoryId> needed) {
  int64_t excess = -bound;
  for (const PrefixSize& one : kept) excess += one.bytes;
  const auto stays = [&](const PrefixSize& one) {
    return one.bytes == 0 || (one.id == needed && one.bytes <= bound);
  };
  std::erase_if(kept, stays);
  const auto order = [&](const PrefixSize& one) { return std::pair{one.id != needed, one.tokens}; };
  std::ranges::sort(kept, {}, order);  // prefixes that cannot stay come first
  std::vector<PrefixSize> evicted;
  for (const PrefixSize& one : kept) {
    if (excess <= 0) break;
    excess -= one.bytes;
    evicted.push_back(one);
  }
  for (auto it = evicted.rbegin(); it != evicted.rend(); ++it) {  // the most expensive first
    if (excess + it->bytes > 0) continue;
    excess += it->bytes;
    it->bytes = 0;
  }
  std::erase_if(evicted, [](const PrefixSize& one) { return one.bytes == 0; });
  std::vector<TrajectoryId> ids(evicted.size());
  std::ranges::transform(evicted, ids.begin(), &PrefixSize::id);
  return ids;
}

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
  if (!critic_stream_) critic_stream_.emplace(networks.actor().computed().embed.device());
  if (running.prefix) {
    running.prefix->extend(networks, running.held, mark, config_.refresh_prefix, *critic_stream_);
  }
}

/// The memory of each prefix once all segments so far are scored.
std::vector<PrefixSize> RunningTrajectories::sizes(Bytes bytes) const {
  std::vector<PrefixSize> all;
  for (const auto& [id, running] : running_) {
    if (!running.prefix) continue;
    const int64_t tokens = running.held.size();
    all.push_back({id, tokens, ((*running.prefix).*bytes)(tokens)});
  }
  return all;
}

/// A prefix in host memory continues to grow there; a released one must be recomputed.
void RunningTrajectories::make_room(TrajectoryId growing) {
  const std::vector<PrefixSize> here = sizes(&KeptPrefix::bytes_with);
  if (!config_.offloads(Offload::kept_prefixes)) {
    release(prefixes_to_evict(here, config_.max_held_bytes, growing), growing);
    return;
  }
  for (const TrajectoryId id : prefixes_to_evict(here, config_.max_held_bytes)) {
    running_.at(id).prefix->move_to_host();
    ++offloaded_prefixes_;
  }
  release(
      prefixes_to_evict(sizes(&KeptPrefix::host_bytes_with), config_.max_offloaded_bytes, growing),
      growing);
}

/// A growing trajectory whose prefix alone exceeds a bound would be recomputed in full for each of
/// its segments, so it is scored at its first use instead.
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
