// SPDX-License-Identifier: Apache-2.0
// Brain: replaces the generator and asks a chat endpoint, or a folder of solutions, for each turn.
// Owns the sessions' tokens, the requests in flight and the run's brain/ folder; spawned and
// watched by the supervisor; bounded by `max_sessions` trajectories of bounded length (then error
// capacity) and `concurrency` requests. When a limit is reached or no request can succeed, it asks
// main for the end of the run and refuses further calls with error capacity, so that open
// trajectories stay on disk for a resume. If it dies, rollouts send whole prefixes to its
// successor.
#pragma once

#include <caf/typed_response_promise.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/base/actor_state.hpp"
#include "actors/base/end_request.hpp"
#include "actors/brain/chat_completion.hpp"
#include "actors/brain/chat_reader.hpp"
#include "actors/brain/exchange_log.hpp"
#include "actors/brain/retry.hpp"
#include "actors/protocol/interfaces.hpp"
#include "runtime/clock.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/http/http_client.hpp"
#include "runtime/random_stream.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith::actors {

/// The text format of the run's model; answers are recorded in its tokens.
struct BrainText {
  std::shared_ptr<const policy::Tokenizer> tokenizer;
  policy::ChatFrame frame;
  std::vector<int32_t> stop_tokens;
};

struct BrainSettings {
  BrainConfig config;
  RequestStyle style;
  BrainText text;
  std::string key;  // never logged, stored or sent to another actor
  RunPaths run;
  size_t chunk_tokens = 16;   // per message to the rollout
  size_t max_sessions = 256;  // trajectories whose tokens it keeps
  uint64_t seed = 0;          // for the jitter of waits
  std::shared_ptr<EndRequest> end;
};

/// The key in the variable that `key_env` names; empty if it names none. `invalid_config` names the
/// variable, never its value.
Result<std::string> brain_key(const BrainConfig& c);

/// Refuses at the start of a run what would fail at its first request: a missing key, an `extra`
/// that is not an object, a missing folder, or a chat template that cannot be read back.
Result<void> check_brain(const RunConfig& config, const BrainText& text);

/// Throws ActorFailure where check_brain fails.
BrainSettings brain_settings(const RunConfig& config, BrainText text, const RunPaths& run,
                             std::shared_ptr<EndRequest> end);

/// The longest time until a turn is answered or has failed, including all retries and the turns of
/// all other trajectories queued before it.
std::chrono::milliseconds brain_timeout(const RunConfig& config);

/// The brain with its messages to itself: replies have arrived; a wait may be over.
using BrainSelf =
    GeneratorActor::extend<caf::reacts_to<atom::progress>, caf::reacts_to<atom::tick>>;

class BrainState : public ActorState {
 public:
  using Self = BrainSelf::stateful_pointer<BrainState>;

  BrainState() : random_(0, "brain") {}
  void start(Self self, BrainSettings settings);
  void weights_ready(const WeightsReady& /*ready*/) {}  // an endpoint has its own
  void release(atom::release, TrajectoryId session);
  caf::result<bool> generate(const GenerateCall& call);
  void replied(atom::progress);
  void tick(atom::tick);

 private:
  using Promise = caf::typed_response_promise<bool>;

  /// The phase of a turn; the comment says what comes next.
  enum class Phase : uint8_t {
    queued,   // fewer than `concurrency` requests are in flight
    asking,   // the endpoint replies
    waiting,  // the time until the next attempt passes
  };
  /// A turn that a rollout waits for.
  struct Turn {
    uint32_t number = 0;  // of the call
    int64_t credit = 0;   // tokens
    RolloutActor rollout;
    std::shared_ptr<Promise> promise;
    Phase phase = Phase::queued;
    int64_t attempts = 0;
    uint64_t ticket = 0;          // of the attempt in flight
    SteadyClock::time_point due;  // of the next attempt
  };
  struct Session {
    std::vector<int32_t> tokens;
    std::optional<Turn> turn;
  };
  /// Replies from the client's thread that are not handled yet.
  struct Inbox {
    std::mutex mutex;
    std::vector<std::pair<uint64_t, HttpReply>> replies;
  };

  void describe(ActorStatus& status) const override;
  caf::error refusal(TrajectoryId session);

  // Asking
  void start_queued();
  void ask_endpoint(TrajectoryId id, Session& session);
  HttpRequest http_request(std::string body) const;
  void ask_folder(TrajectoryId id);

  // Answers
  void handle_reply(TrajectoryId id, HttpReply reply);
  void answered(TrajectoryId id, const ChatAnswer& answer);
  void retry_turn(TrajectoryId id, const HttpReply& reply, const std::string& why);
  void deliver(TrajectoryId id, const std::string& text, bool whole);
  void send_tokens(const Turn& turn, TrajectoryId id, std::span<const int32_t> tokens,
                   FinishReason finish);
  void fail_turn(TrajectoryId id, const Error& error);
  void hold_turn(TrajectoryId id);
  void drop_turn(Session& session);

  // The end
  void end_run(EndRequest::Why why);
  void keep_usage();
  void require_written(const Result<void>& written);

  Self self_ = nullptr;
  BrainSettings settings_;
  Endpoint endpoint_;
  std::optional<ChatReader> reader_;
  std::optional<ExchangeLog> log_;
  BrainUsage usage_;
  RandomStream random_;
  std::map<TrajectoryId, Session> sessions_;
  std::deque<TrajectoryId> queue_;           // sessions whose turn is queued
  std::map<uint64_t, TrajectoryId> asking_;  // ticket → session
  std::set<TrajectoryId> held_;              // refused since the end was asked for
  uint64_t tickets_ = 0;
  bool ending_ = false;
  std::shared_ptr<Inbox> inbox_;
  std::unique_ptr<HttpClient>
      client_;  // last, so that its thread stops before the rest is destroyed
};

BrainSelf::behavior_type brain(BrainState::Self self, Identity identity, BrainSettings settings);

}  // namespace warpsmith::actors
