// SPDX-License-Identifier: Apache-2.0
// One thread that owns an inference engine and steps it. Other threads submit sequences through a
// bounded queue and read their tokens from channels. On a GPU the thread computes while it holds a
// share of the GPU, which it releases between two steps when a measurement needs the GPU.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "actors/base/gpu_share.hpp"
#include "commands/serve/choice_text.hpp"
#include "policy/generate/engine/engine.hpp"
#include "runtime/clock.hpp"
#include "runtime/result.hpp"

namespace warpsmith::commands {
using namespace actors;

/// A token of one of the request's sequences.
struct ChannelToken {
  size_t sequence = 0;
  AnswerToken token;
};

/// The sampled tokens of one HTTP request, from the engine's thread to the request's. Unbounded but
/// for the tokens that the request may sample, because a slow client must not stop the engine.
/// Thread-safe.
class TokenChannel {
 public:
  explicit TokenChannel(size_t sequences) : cancelled_(sequences) {}

  /// Waits until there are tokens, the channel failed, or the deadline passed. Returns all tokens.
  std::vector<ChannelToken> take(Deadline deadline);
  /// Why no more tokens will come, once all have been taken.
  std::optional<Error> failure() const;
  /// The reader needs no more tokens of a sequence: the engine drops it.
  void cancel(size_t sequence) { cancelled_.at(sequence) = true; }
  void cancel_all() {
    for (auto& cancelled : cancelled_) cancelled = true;
  }
  bool cancelled(size_t sequence) const { return cancelled_.at(sequence); }

  void push(const ChannelToken& token);
  void fail_with(Error error);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ChannelToken> tokens_;
  std::optional<Error> failure_;
  std::vector<std::atomic<bool>> cancelled_;  // by sequence
};

/// Makes an engine with its weights. The loop's thread calls it and later destroys the engine.
using EngineMaker = std::function<Result<std::unique_ptr<policy::Engine>>()>;

struct LoopLimits {
  int64_t sessions = 64;                 // sequences decoded at once: the engine's slots
  int64_t queue = 64;                    // sequences that may wait for a slot
  std::chrono::seconds step_budget{60};  // a step that takes longer counts as stuck
};

struct LoopStatus {
  int64_t running = 0;  // sequences in the engine
  int64_t waiting = 0;  // sequences in the queue
  uint64_t steps = 0;
  policy::EngineStats engine;
  bool stuck = false;   // a step has taken longer than its budget
  std::string failure;  // why the engine ended; empty: it runs
};

class EngineLoop {
 public:
  /// Starts the thread and waits until the engine is made; returns the maker's error.
  static Result<std::unique_ptr<EngineLoop>> start(EngineMaker make, LoopLimits limits,
                                                   SharedGpu shared = {});
  /// Stops.
  ~EngineLoop();
  EngineLoop(const EngineLoop&) = delete;
  EngineLoop& operator=(const EngineLoop&) = delete;

  /// Queues the sequences of one request; their session ids are set here, and token i of the
  /// channel belongs to `sequences[i]`. `capacity`: the queue is full, without what is cancelled.
  /// `infrastructure`: the loop closes or has failed.
  Result<std::shared_ptr<TokenChannel>> submit(std::vector<policy::EngineRequest> sequences);

  /// Refuses all further requests.
  void close();
  /// True once nothing runs or waits, or false at the deadline.
  bool drained(Deadline deadline);
  /// Ends the thread; requests that run or wait fail.
  void stop();

  LoopStatus status() const;
  int64_t sessions() const { return limits_.sessions; }

 private:
  struct Waiting {
    policy::EngineRequest request;
    size_t sequence = 0;
    std::shared_ptr<TokenChannel> channel;
  };
  struct Running {
    size_t sequence = 0;
    std::shared_ptr<TokenChannel> channel;
  };

  EngineLoop(LoopLimits limits, SharedGpu shared) : limits_(limits), shared_(std::move(shared)) {}

  void run(const EngineMaker& make);
  bool open_engine(const EngineMaker& make);
  Result<std::unique_ptr<policy::Engine>> make_engine(const EngineMaker& make);
  void run_steps();
  void step();
  bool acquire_share();
  void release_share();
  void remove_cancelled();
  void dequeue();
  void admit(Waiting& waiting);
  void drop_cancelled();
  void deliver(const policy::EngineOutput& output);
  void publish(bool stepped);
  void fail_all(const Error& error);

  const LoopLimits limits_;
  const SharedGpu shared_;
  mutable std::mutex mutex_;  // of all below, up to `engine_`
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  LoopStatus status_;
  Result<void> started_;
  bool ready_ = false, closed_ = false, stopping_ = false;
  SteadyClock::time_point last_step_ = SteadyClock::now();  // when the last step ended

  std::unique_ptr<policy::Engine> engine_;  // from here on: used by the thread only
  std::optional<DeviceShare> share_;
  std::deque<Waiting> dequeued_;  // from the queue, not yet in the engine
  std::map<policy::SessionId, Running> running_;
  policy::SessionId next_session_ = 1;
  std::thread thread_;
};

}  // namespace warpsmith::commands
