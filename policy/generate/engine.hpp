// SPDX-License-Identifier: Apache-2.0
// Continuous batching: many sequences, one step at a time, weights exchanged between steps.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "policy/generate/decode_model.hpp"
#include "policy/generate/prefix_tree.hpp"
#include "policy/generate/sampler.hpp"
#include "policy/generate/scheduler.hpp"
#include "runtime/finish_reason.hpp"
#include "runtime/policy_version.hpp"
#include "runtime/random_stream.hpp"

namespace warpsmith::policy {

using SessionId = uint64_t;  // the trajectory's id, chosen by the caller

/// Continues a session. Its prefix is kept by the engine, so `new_tokens` is only what the engine
/// has not seen; with `whole` it is the full prefix (a first turn, or another engine died with it),
/// and replaces what the engine may hold.
struct EngineRequest {
  SessionId session = 0;
  bool whole = false;
  std::vector<int32_t> new_tokens;
  SamplingParams params;
};

/// Newly sampled tokens of one session; all vectors of one length.
struct EngineOutput {
  SessionId session = 0;
  std::vector<int32_t> tokens;
  std::vector<float> log_probs;              // see SampledToken::log_prob
  std::vector<PolicyVersion> versions;       // of the weights that sampled each token
  FinishReason finish = FinishReason::none;  // anything else: the request's last chunk
};

struct EngineConfig {
  int64_t max_sessions = 64;          // held at once, running or idle
  int64_t max_session_tokens = 4096;  // prefix and sampled tokens of one session
  int64_t cache_tokens = 65'536;      // keys and values held, over all sessions
  int64_t step_rows = 512;            // tokens computed per step
  int64_t max_batch = 65'536;         // sequences that one step advances; older requests go first
  bool prefix_reuse = true;           // equal beginnings share their blocks

  Result<void> validate() const;
};

struct EngineStats {
  int64_t sessions = 0;
  int64_t running = 0;        // sessions with an unfinished request
  int64_t cached_blocks = 0;  // in use, of `total_blocks`
  int64_t total_blocks = 0;
  uint64_t sampled_tokens = 0;     // since the start
  uint64_t computed_tokens = 0;    // rows put through the model: prefill and decode
  uint64_t reused_tokens = 0;      // prefix tokens that needed no computing
  uint64_t evicted_sequences = 0;  // times that a session lost its cache to another
};

/// Not thread-safe: one actor owns it. Memory is bounded by its configuration. When the cache runs
/// short, unused prefixes go first, then the caches of idle sessions, then that of the youngest
/// running one; what was lost is computed again, so no request fails for want of cache.
class Engine {
 public:
  /// No weights yet: `submit` works, `step` gives nothing until the first `load`.
  static Result<std::unique_ptr<Engine>> make(const ModelConfig& model, const EngineConfig& config);

  /// Newer weights for all tokens sampled from now on; between any two steps. Takes a packed copy.
  /// Running sequences go on over the keys and values that older weights computed: their log-probs
  /// are what was really sampled from.
  void load(PolicyVersion version, const ModelWeights& weights);

  /// `capacity`: no free slot, or the session would exceed its tokens. `not_found`: a continuation
  /// of a session that the engine does not hold (send it whole). `already_exists`: its last request
  /// still runs. `invalid_argument`: no tokens, a token outside the vocabulary, bad parameters.
  Result<void> submit(EngineRequest request);

  /// One pass of the model over what is pending: at most one new token per running session.
  std::vector<EngineOutput> step();

  /// Stops a session's request but keeps its tokens, so that it can be continued. No-op if idle.
  void cancel(SessionId session);
  /// Forgets a session. No-op if unknown.
  void release(SessionId session);

  bool has_work() const { return running_ > 0; }
  size_t free_slots() const;
  PolicyVersion version() const { return version_; }
  EngineStats stats() const;
  /// Prefix and sampled tokens of a session; empty if unknown.
  std::vector<int32_t> tokens_of(SessionId session) const;

 private:
  struct Session {
    std::vector<int32_t> tokens;
    std::vector<BlockId> blocks;
    int64_t computed = 0;  // tokens whose keys and values are in `blocks`
    bool current = true;   // every block is of the loaded weights: others may share them
    bool running = false;
    uint64_t arrival = 0;  // of its last request
    int32_t left = 0;      // tokens that the request may still sample
    SamplingParams params;
  };
  using Sessions = std::map<SessionId, Session>;

  Engine(const ModelConfig& model, const EngineConfig& config);

  Result<void> check(const EngineRequest& request) const;
  std::vector<PendingSequence> pending() const;
  std::vector<PlannedWork> admit(const std::vector<PlannedWork>& plan);
  void step_back(Session& session, int64_t position);
  void adopt_prefix(Session& session);
  bool reserve(Session& session, int64_t tokens);
  bool make_room(const Session& asker);
  void drop_cache(Session& session);
  std::vector<EngineOutput> compute(const std::vector<PlannedWork>& plan);
  EngineOutput sample(SessionId id, Session& session, std::span<const float> logits);
  FinishReason finish_of(const Session& session, int32_t token) const;

  ModelConfig model_config_;
  EngineConfig config_;
  BlockPool pool_;
  PrefixTree prefixes_{pool_};
  KvCache cache_;
  std::optional<DecodeModel> model_;
  PolicyVersion version_;
  Sessions sessions_;
  uint64_t arrivals_ = 0;
  int64_t running_ = 0;
  EngineStats counters_;
};

}  // namespace warpsmith::policy
