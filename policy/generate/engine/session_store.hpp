// SPDX-License-Identifier: Apache-2.0
// The sessions of an engine: the KV cache blocks that they hold and share, and which of their
// tokens the next step computes. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "policy/generate/engine/kv_blocks.hpp"
#include "policy/generate/engine/sampling.hpp"

namespace warpsmith::policy {

/// A sequence to compute. `pending` counts tokens without keys and values, at least 1: exactly one
/// while decoding, more for a prefill.
struct PendingSequence {
  uint64_t session = 0;
  uint64_t arrival = 0;  // order of requests; older ones go first
  int64_t pending = 0;
};

struct PlannedWork {
  uint64_t session = 0;
  int64_t count = 0;  // pending tokens to compute, from the first
};

/// Decoding sequences go first, so that a long prompt delays them by at most one chunk of
/// `row_budget` rows. The rest of the budget goes to prefills by arrival; the last one is cut to
/// fit. At least one sequence advances. At most `most_sequences` do, in the same order.
std::vector<PlannedWork> plan_step(std::span<const PendingSequence> sequences, int64_t row_budget,
                                   int64_t most_sequences = std::numeric_limits<int64_t>::max());

using SessionId = uint64_t;  // the trajectory's id, chosen by the caller

/// The sequence of one trajectory, and its request while it runs.
struct Session {
  std::vector<int32_t> tokens;
  std::vector<BlockId> blocks;
  PrefixTree::Path prefix;     // of the prefix tree; its blocks are the first of `blocks`
  int64_t computed = 0;        // positions whose keys and values started batches put into `blocks`
  bool current = true;         // `blocks` are of the newest weights: other sessions may share them
  bool running = false;        // has an unfinished request
  uint64_t arrival = 0;        // of the last request; a larger number is later
  int32_t left = 0;            // tokens that the request may still sample
  int32_t in_flight = 0;       // samples of started batches that are not in `tokens` yet
  int32_t newest_sample = -1;  // if in flight: the index of the last one in its batch
  SamplingParams params;

  /// Tokens including those in flight.
  int64_t size() const { return static_cast<int64_t>(tokens.size()) + in_flight; }
};

/// All sessions of an engine. If blocks run out, unused prefixes are evicted first, then the caches
/// of idle sessions, then that of the youngest running session.
class SessionStore {
 public:
  using Sessions = std::map<SessionId, Session>;

  SessionStore(int64_t blocks, bool prefix_reuse) : pool_(blocks), prefix_reuse_(prefix_reuse) {}

  Sessions& sessions() { return sessions_; }
  const Sessions& sessions() const { return sessions_; }
  Session* find(SessionId id);
  const Session* find(SessionId id) const;
  /// Frees its blocks. No effect if there is no such session.
  void erase(SessionId id);

  /// The sessions to compute. If several sequences need the same block next, only the first
  /// computes it and the others wait to share it.
  std::vector<PendingSequence> pending(int64_t max_session_tokens) const;
  /// Takes blocks for every planned sequence; returns the work whose blocks were found.
  std::vector<PlannedWork> reserve(const std::vector<PlannedWork>& plan);

  /// Lets running sessions use cached blocks that continue their prefix. Returns the number of
  /// tokens that need not be computed.
  int64_t adopt_prefixes();
  /// Lets other sessions share the computed full blocks of a session, if they are current.
  void share_prefix(Session& session);
  /// Makes `position` the next to compute. Drops the cache if another session shares that block.
  void rewind(Session& session, int64_t position);
  void drop_cache(Session& session);
  /// After new weights: forgets all prefixes and marks the blocks of sessions as not current.
  void expire();

  const BlockPool& pool() const { return pool_; }
  /// Sessions that lost their cache to another one so far.
  uint64_t evicted() const { return evicted_; }

 private:
  int64_t adopt_prefix(Session& session);
  void drop_blocks_from(Session& session, int64_t first);
  bool reserve(Session& session, int64_t tokens);
  bool make_room(const Session& asker);
  Session* victim_for(const Session& asker);

  BlockPool pool_;
  PrefixTree prefixes_{pool_};
  Sessions sessions_;
  bool prefix_reuse_;
  uint64_t evicted_ = 0;
};

}  // namespace warpsmith::policy
