// SPDX-License-Identifier: Apache-2.0
// Brain: takes the generator's place and asks a chat endpoint, or a folder of solutions, for each
// turn. Owns the sessions' tokens, the requests under way and the run's brain/ folder; spawned and
// watched by the supervisor; bounded by `max_sessions` trajectories of bounded length (then error
// capacity) and `concurrency` requests. When a limit is reached or no request can succeed, it asks
// main for the end of the run and refuses further calls with error capacity, so that open
// trajectories stay on disk for a resume. When it dies, rollouts send whole prefixes to its
// successor.
#pragma once

#include <caf/typed_response_promise.hpp>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "actors/base/actor_state.hpp"
#include "actors/brain/brain_settings.hpp"
#include "actors/brain/exchange_log.hpp"
#include "actors/brain/retry.hpp"
#include "actors/protocol/interfaces.hpp"
#include "runtime/clock.hpp"
#include "runtime/http/http_client.hpp"
#include "runtime/random_stream.hpp"

namespace warpsmith::actors {

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

  /// Where a turn stands; the comment says what comes next.
  enum class Phase : uint8_t {
    queued,   // a free place among the requests under way
    asking,   // the endpoint replies
    waiting,  // the time until the next attempt passes
  };
  /// A turn that a rollout waits for.
  struct Turn {
    uint32_t number = 0;  // of the call
    int64_t credit = 0;   // tokens
    RolloutActor asker;
    std::shared_ptr<Promise> promise;
    Phase phase = Phase::queued;
    int64_t attempts = 0;
    uint64_t ticket = 0;          // of the attempt under way
    SteadyClock::time_point due;  // of the next attempt
  };
  struct Session {
    std::vector<int32_t> tokens;
    std::optional<Turn> turn;
  };
  /// Replies on their way from the client's thread.
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
  void take_reply(TrajectoryId id, HttpReply reply);
  void answered(TrajectoryId id, const ChatAnswer& answer);
  void again(TrajectoryId id, const HttpReply& reply, const std::string& why);
  void deliver(TrajectoryId id, const std::string& text, bool whole);
  void send_tokens(const Turn& turn, TrajectoryId id, std::span<const int32_t> tokens,
                   FinishReason finish);
  void fail_turn(TrajectoryId id, const Error& error);
  void hold_turn(TrajectoryId id);
  void drop_turn(Session& session);

  // The end
  void end_run(EndRequest::Why why);
  void keep_usage();
  void must(const Result<void>& written);

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
  std::unique_ptr<HttpClient> client_;  // last: its thread ends before all else goes
};

BrainSelf::behavior_type brain(BrainState::Self self, Identity identity, BrainSettings settings);

}  // namespace warpsmith::actors
