// SPDX-License-Identifier: Apache-2.0
// Sandbox: the actor of one device (a CPU slot or a GPU). Owns the queues of requests to compile
// and to judge, and a worker with its own thread for each; spawned and watched by the supervisor;
// bounded by `sandbox.queue` (then error capacity). When it dies, its processes and jails die with
// it and requesters get an infrastructure failure.
#pragma once

#include <caf/typed_event_based_actor.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <utility>

#include "actors/base/actor_state.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/interfaces.hpp"
#include "actors/sandbox/sandbox_backend.hpp"
#include "runtime/config/sandbox_config.hpp"
#include "sandbox/service/client.hpp"

namespace warpsmith::actors {

/// The sandbox as its workers see it: they also send a line about the current call.
using SandboxFront = SandboxActor::extend<caf::reacts_to<atom::progress, std::string>>;

/// A worker of a sandbox and the calls that wait for it; the worker gets one call at a time. The
/// sandbox bounds `waiting`.
class WorkerQueue {
 public:
  using Owner = SandboxFront::pointer;

  WorkerQueue() = default;
  WorkerQueue(Owner owner, ActorState& state, SandboxActor worker)
      : owner_(owner), state_(&state), worker_(std::move(worker)) {}

  bool has_worker() const { return static_cast<bool>(worker_); }
  bool busy() const { return busy_; }
  size_t waiting() const { return waiting_.size() + deferred_.size(); }
  /// Seconds that the worker has spent on answered calls.
  double busy_seconds() const { return std::chrono::duration<double>(worked_).count(); }

  /// Queues one call, whose result the owner passes to `then(Result<Out>)`. Waits for twice the
  /// budget: the backend reports its own deadline unless it hangs. A worker that ends also ends its
  /// owner; `then` is not called, so the requester gets one error and not two.
  template <class Out, class Then, class... Call>
  void add(std::chrono::milliseconds budget, Then then, const Call&... call) {
    waiting_.push_back(job_of<Out>(budget, std::move(then), call...));
    if (!busy_) start_next();
  }

  /// Queues one call that waits behind all calls of `add`, for at most `longest_deferral`.
  template <class Out, class Then, class... Call>
  void add_deferred(std::chrono::milliseconds budget, Then then, const Call&... call) {
    deferred_.push_back(
        {job_of<Out>(budget, std::move(then), call...), Clock::now() + longest_deferral});
    if (!busy_) start_next();
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Job = std::function<void()>;
  struct DeferredJob {
    Job job;
    Clock::time_point until;  // from then on it goes first
  };
  static constexpr std::chrono::seconds longest_deferral{60};

  template <class Out, class Then, class... Call>
  Job job_of(std::chrono::milliseconds budget, Then then, const Call&... call) {
    return [=, this]() mutable {
      ask(owner_, *state_, "worked", worker_, 2 * budget, call...)
          .then(
              [this, then](Out& out) mutable {
                answered();
                then(Result<Out>{std::move(out)});
              },
              [this, then](caf::error& error) mutable {
                if (receiver_is_gone(error)) return;
                answered();
                then(Result<Out>{tl::unexpected(from_caf(error))});
              });
    };
  }
  void answered() {
    worked_ += Clock::now() - started_;
    start_next();
  }
  void start_next() {
    busy_ = waiting() > 0;
    if (!busy_) return;
    started_ = Clock::now();
    take()();
  }
  Job take() {
    const bool deferred =
        !deferred_.empty() && (waiting_.empty() || deferred_.front().until < started_);
    Job job = std::move(deferred ? deferred_.front().job : waiting_.front());
    deferred ? deferred_.pop_front() : waiting_.pop_front();
    return job;
  }

  Owner owner_ = nullptr;
  ActorState* state_ = nullptr;
  SandboxActor worker_;
  std::deque<Job> waiting_;
  std::deque<DeferredJob> deferred_;
  Clock::time_point started_;  // the current call
  std::chrono::nanoseconds worked_{0};
  bool busy_ = false;
};

struct SandboxActorSettings {
  SandboxConfig config;
  bool detached = true;  // false (tests): workers run in the pool

  std::chrono::milliseconds evaluate_budget() const { return config.settings.evaluation_timeout; }
  /// The worker's start included.
  std::chrono::milliseconds ingest_budget() const;
};

/// The backends of the two workers. Without a compiler the device's worker compiles too.
struct SandboxBackends {
  SandboxBackendFactory device;
  SandboxBackendFactory compiler;  // off the device's cores; fills the cache that both share
};

/// The services of slot `index`. The compiler gets its own service only if a core is left that no
/// slot has: on a slot's core it would disturb what is timed.
SandboxBackends slot_backends(const SandboxConfig& config, const std::string& python,
                              uint32_t index, const std::shared_ptr<sandbox::EndSwitch>& ender);

class SandboxState : public ActorState {
 public:
  using Self = SandboxFront::stateful_pointer<SandboxState>;

  void start(Self self, SandboxBackends backends, SandboxActorSettings settings);
  caf::result<Judgement> evaluate(EvaluateCall& call);
  caf::result<TaskFacts> ingest(atom::ingest, Task& task);
  void progress(atom::progress, const std::string& line);

 private:
  using Promise = caf::typed_response_promise<Judgement>;

  void describe(ActorStatus& status) const override;
  WorkerQueue spawn_worker(const char* suffix, SandboxBackendFactory factory);
  bool full() const {
    return compiling_.waiting() + judging_.waiting() >= static_cast<size_t>(settings_.config.queue);
  }
  Error no_room() const;
  void compile(Promise promise, const EvaluateCall& call);
  void judge(Promise promise, const EvaluateCall& call, double compile_ms);

  Self self_ = nullptr;
  SandboxActorSettings settings_;
  WorkerQueue compiling_, judging_;
  std::string doing_;  // a worker's latest line about its current call
};

/// The front: queues requests and answers status requests at once, while its workers block on
/// compiler and device. One submission is compiled while another is judged.
SandboxFront::behavior_type sandbox(SandboxState::Self self, Identity identity,
                                    SandboxBackends backends, SandboxActorSettings settings);

}  // namespace warpsmith::actors
