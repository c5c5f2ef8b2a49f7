// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/engine/session_store.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace warpsmith::policy {
namespace {

/// Running sessions in order of arrival.
std::vector<std::pair<SessionId, const Session*>> by_arrival(
    const SessionStore::Sessions& sessions) {
  std::vector<std::pair<SessionId, const Session*>> order;
  for (const auto& [id, session] : sessions) {
    if (session.running) order.emplace_back(id, &session);
  }
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.second->arrival < b.second->arrival; });
  return order;
}

/// True if the samples in flight end the request or fill the session.
bool is_complete(const Session& session, int64_t max_session_tokens) {
  if (session.in_flight == 0) return false;
  return session.in_flight >= session.left || session.size() >= max_session_tokens;
}

/// The block that a session computes next and others may share: the first one after its known
/// prefix. Empty if it has that block, or needs the logits of the block's last token.
std::optional<PrefixTree::Edge> next_shared_block(const Session& session) {
  const int64_t first = session.prefix.blocks() * block_tokens;
  const int64_t end = first + block_tokens;
  if (!session.current || session.computed >= end) return std::nullopt;
  if (std::ssize(session.tokens) <= end) return std::nullopt;
  const auto begin = session.tokens.begin();
  return PrefixTree::Edge{session.prefix.end(), {begin + first, begin + end}};
}

/// True if the session computed no token after its known prefix.
bool is_at_prefix_end(const Session& session) {
  return session.computed == session.prefix.blocks() * block_tokens;
}

/// True if `a` loses its cache before `b`: idle before running, then the oldest idle or the
/// youngest running session.
bool is_evicted_before(const Session& a, const Session& b) {
  if (a.running != b.running) return !a.running;
  return a.running ? a.arrival > b.arrival : a.arrival < b.arrival;
}

}  // namespace

std::vector<PlannedWork> plan_step(std::span<const PendingSequence> sequences, int64_t row_budget,
                                   int64_t most_sequences) {
  std::vector<PendingSequence> order(sequences.begin(), sequences.end());
  std::sort(order.begin(), order.end(), [](const PendingSequence& a, const PendingSequence& b) {
    const bool a_prefills = a.pending > 1;
    const bool b_prefills = b.pending > 1;
    if (a_prefills != b_prefills) return b_prefills;
    return a.arrival < b.arrival;
  });
  std::vector<PlannedWork> plan;
  int64_t left = std::max<int64_t>(row_budget, 1);
  for (const PendingSequence& sequence : order) {
    if (left == 0 || static_cast<int64_t>(plan.size()) >= most_sequences) break;
    const int64_t count = std::min(sequence.pending, left);
    plan.push_back({sequence.session, count});
    left -= count;
  }
  return plan;
}

Session* SessionStore::find(SessionId id) {
  const auto it = sessions_.find(id);
  return it == sessions_.end() ? nullptr : &it->second;
}

const Session* SessionStore::find(SessionId id) const {
  const auto it = sessions_.find(id);
  return it == sessions_.end() ? nullptr : &it->second;
}

void SessionStore::erase(SessionId id) {
  Session* session = find(id);
  if (session == nullptr) return;
  drop_cache(*session);
  sessions_.erase(id);
}

std::vector<PendingSequence> SessionStore::pending(int64_t max_session_tokens) const {
  std::vector<PendingSequence> all;
  std::set<PrefixTree::Edge> begun;
  for (const auto& [id, s] : by_arrival(sessions_)) {
    if (is_complete(*s, max_session_tokens)) continue;
    if (auto next = prefix_reuse_ ? next_shared_block(*s) : std::nullopt) {
      const bool first = begun.insert(std::move(*next)).second;
      if (!first && is_at_prefix_end(*s)) continue;
    }
    all.push_back({id, s->arrival, s->size() - s->computed});
  }
  return all;
}

std::vector<PlannedWork> SessionStore::reserve(const std::vector<PlannedWork>& plan) {
  std::vector<PlannedWork> reserved;
  for (const PlannedWork& work : plan) {
    Session& session = sessions_.at(work.session);
    if (session.computed + work.count > session.size()) continue;
    if (reserve(session, session.computed + work.count)) reserved.push_back(work);
  }
  // Making room for a later sequence may have evicted an earlier one.
  std::erase_if(reserved, [&](const PlannedWork& work) {
    const Session& session = sessions_.at(work.session);
    return std::ssize(session.blocks) < blocks_for(session.computed + work.count);
  });
  return reserved;
}

bool SessionStore::reserve(Session& session, int64_t tokens) {
  while (std::ssize(session.blocks) < blocks_for(tokens)) {
    if (const auto block = pool_.take()) {
      session.blocks.push_back(*block);
    } else if (!make_room(session)) {
      return false;
    }
  }
  return true;
}

/// Frees at least one block; false if there is none to free for a session of this age.
bool SessionStore::make_room(const Session& asker) {
  if (prefixes_.evict_one()) return true;
  Session* victim = victim_for(asker);
  if (victim == nullptr) return false;
  drop_cache(*victim);
  ++evicted_;
  return pool_.free_blocks() > 0 || prefixes_.evict_one();
}

Session* SessionStore::victim_for(const Session& asker) {
  Session* victim = nullptr;
  for (auto& [id, session] : sessions_) {
    if (session.blocks.empty() || &session == &asker) continue;
    if (session.running && session.arrival < asker.arrival) continue;
    if (victim == nullptr || is_evicted_before(session, *victim)) victim = &session;
  }
  return victim;
}

int64_t SessionStore::adopt_prefixes() {
  if (!prefix_reuse_) return 0;
  int64_t reused = 0;
  for (auto& [id, session] : sessions_) {
    if (session.running && session.current) reused += adopt_prefix(session);
  }
  return reused;
}

int64_t SessionStore::adopt_prefix(Session& session) {
  if (!is_at_prefix_end(session)) return 0;
  const int64_t before = session.prefix.blocks();
  const std::vector<BlockId> found = prefixes_.match(session.tokens, session.prefix);
  if (found.empty()) return 0;
  drop_blocks_from(session, before);  // reserved, but nothing was computed into them
  session.blocks.insert(session.blocks.end(), found.begin(), found.end());
  session.computed = session.prefix.blocks() * block_tokens;
  return std::ssize(found) * block_tokens;
}

void SessionStore::share_prefix(Session& session) {
  if (!prefix_reuse_ || !session.current) return;
  const auto full = static_cast<size_t>(session.computed / block_tokens);
  prefixes_.insert(session.tokens, std::span(session.blocks).first(full), session.prefix);
}

void SessionStore::rewind(Session& session, int64_t position) {
  session.computed = position;
  const auto block = static_cast<size_t>(position / block_tokens);
  if (pool_.holders(session.blocks[block]) > 1) drop_cache(session);
}

void SessionStore::drop_blocks_from(Session& session, int64_t first) {
  const auto from = session.blocks.begin() + first;
  std::for_each(from, session.blocks.end(), [this](BlockId block) { pool_.drop(block); });
  session.blocks.erase(from, session.blocks.end());
}

void SessionStore::drop_cache(Session& session) {
  drop_blocks_from(session, 0);
  session.prefix = {};
  session.computed = 0;
  session.current = true;
}

void SessionStore::expire() {
  prefixes_.clear();
  for (auto& [id, session] : sessions_) {
    session.prefix = {};
    session.current = session.computed == 0;
  }
}

}  // namespace warpsmith::policy
