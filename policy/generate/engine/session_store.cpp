// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/engine/session_store.hpp"

#include <algorithm>
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

/// True if `a` loses its cache before `b`: idle before running, then the oldest idle or the
/// youngest running session.
bool is_evicted_before(const Session& a, const Session& b) {
  if (a.running != b.running) return !a.running;
  return a.running ? a.arrival > b.arrival : a.arrival < b.arrival;
}

}  // namespace

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
  std::set<std::vector<int32_t>> begun;
  for (const auto& [id, s] : by_arrival(sessions_)) {
    if (is_complete(*s, max_session_tokens)) continue;
    const int64_t next_block = s->computed / block_tokens * block_tokens + block_tokens;
    if (prefix_reuse_ && s->current && std::ssize(s->tokens) > next_block) {
      const bool first = begun.emplace(s->tokens.begin(), s->tokens.begin() + next_block).second;
      if (!first && s->computed % block_tokens == 0) continue;
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
    if (!session.running || session.computed > 0) continue;
    drop_cache(session);
    session.blocks = prefixes_.match(session.tokens);
    session.computed = std::ssize(session.blocks) * block_tokens;
    reused += session.computed;
  }
  return reused;
}

void SessionStore::share_prefix(const Session& session) {
  if (prefix_reuse_ && session.current) prefixes_.insert(session.tokens, session.blocks);
}

void SessionStore::rewind(Session& session, int64_t position) {
  session.computed = position;
  const auto block = static_cast<size_t>(position / block_tokens);
  if (pool_.holders(session.blocks[block]) > 1) drop_cache(session);
}

void SessionStore::drop_cache(Session& session) {
  for (const BlockId block : session.blocks) pool_.drop(block);
  session.blocks.clear();
  session.computed = 0;
  session.current = true;
}

void SessionStore::expire() {
  prefixes_.clear();
  for (auto& [id, session] : sessions_) session.current = session.blocks.empty();
}

}  // namespace warpsmith::policy
