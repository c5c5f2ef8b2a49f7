// SPDX-License-Identifier: Apache-2.0
// Continuous batching: many sequences, one step at a time, weights exchanged between steps. Pure;
// a Backend computes.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "policy/generate/engine/backend.hpp"
#include "policy/generate/engine/session_store.hpp"
#include "runtime/model_turn.hpp"
#include "runtime/policy_version.hpp"

namespace warpsmith::policy {

/// Continues a session. The engine keeps its prefix, so `new_tokens` are only those that the engine
/// does not have. With `whole` they are the full prefix (of a first turn, or after another engine
/// was lost), and replace the tokens that the engine has.
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
  std::vector<float> sampled_log_probs;      // see SampledToken::sampled_log_prob
  std::vector<PolicyVersion> versions;       // of the weights that sampled each token
  FinishReason finish = FinishReason::none;  // else this is the request's last output
};

struct EngineConfig {
  int64_t max_sessions = 64;          // held at once, running or idle
  int64_t max_session_tokens = 4096;  // prefix and sampled tokens of one session
  int64_t cache_tokens = 65'536;      // keys and values held, over all sessions
  int64_t step_rows = 512;            // tokens computed per step
  int64_t max_batch = 65'536;         // sequences advanced per step; oldest requests first
  bool prefix_reuse = true;           // equal beginnings share their blocks

  int64_t blocks() const { return cache_tokens / block_tokens; }
  Result<void> validate() const;
};

struct EngineStats {
  int64_t sessions = 0;
  int64_t running = 0;        // sessions with an unfinished request
  int64_t cached_blocks = 0;  // in use, of `total_blocks`
  int64_t total_blocks = 0;
  uint64_t sampled_tokens = 0;     // since the start
  uint64_t computed_tokens = 0;    // rows of all batches: prefill and decode
  uint64_t reused_tokens = 0;      // prefix tokens taken from another sequence's blocks
  uint64_t evicted_sequences = 0;  // times that a session lost its cache to another
};

/// Not thread-safe. Memory is bounded by the configuration. If the cache is full, a sequence may
/// lose its part to another (see SessionStore); it is recomputed, so no request fails because of
/// that.
class Engine {
 public:
  /// `backend` has `config.blocks()` blocks. There are no weights yet: `submit` works, and `step`
  /// does nothing before the first `load`. `invalid_argument` for an impossible configuration.
  static Result<std::unique_ptr<Engine>> make(std::unique_ptr<Backend> backend,
                                              const EngineConfig& config);

  /// Uses newer weights for all tokens sampled from now on. Running sequences continue with the
  /// keys and values of older weights; their log-probs are those of the actual distribution.
  void load(PolicyVersion version, const ModelWeights& weights);

  /// `capacity`: no free slot, or the session would exceed its tokens. `not_found`: a continuation
  /// of a session that the engine does not have (send it whole). `already_exists`: its last request
  /// still runs. `invalid_argument`: no tokens, a token outside the vocabulary, bad parameters.
  Result<void> submit(EngineRequest request);

  /// Starts a batch of pending rows and returns the oldest unfinished batch's samples: at most one
  /// per session. With a backend that runs ahead, that is the previous step's batch.
  std::vector<EngineOutput> step();
  /// Finishes the batches that were started and starts none: the device is idle afterwards.
  std::vector<EngineOutput> settle();

  /// Ends a session's request but keeps its tokens, so that it can be continued. No effect if idle.
  void cancel(SessionId session);
  /// Forgets a session. No effect if unknown.
  void release(SessionId session);

  bool has_work() const { return running_ > 0; }
  size_t free_slots() const;
  PolicyVersion version() const { return version_; }
  EngineStats stats() const;
  /// Prefix and sampled tokens of a session; empty if unknown.
  std::vector<int32_t> tokens_of(SessionId session) const;

 private:
  /// The request that a sample belongs to.
  struct Awaited {
    SessionId session = 0;
    uint64_t arrival = 0;
  };
  struct StartedBatch {
    PolicyVersion version;
    std::vector<Awaited> samples;
  };

  Engine(std::unique_ptr<Backend> backend, const EngineConfig& config);

  Result<void> check_tokens(const EngineRequest& request) const;
  Result<void> check_session(const EngineRequest& request) const;
  Result<void> check_length(const EngineRequest& request) const;
  bool start_batch();
  void append_rows(const Session& session, int64_t count, std::vector<DecodeRow>& rows) const;
  void note_started(const PlannedWork& work, StartedBatch& batch);
  std::vector<EngineOutput> finish_batch();
  EngineOutput add_sample(const Awaited& from, const SampledToken& sample, PolicyVersion version);
  FinishReason finish_of(const Session& session, int32_t token) const;

  std::unique_ptr<Backend> backend_;
  EngineConfig config_;
  SessionStore store_;
  std::deque<StartedBatch> started_;  // oldest first; at most two
  bool loaded_ = false;
  PolicyVersion version_;
  uint64_t arrivals_ = 0;
  int64_t running_ = 0;
  EngineStats counters_;
};

}  // namespace warpsmith::policy
