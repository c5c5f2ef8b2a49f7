// SPDX-License-Identifier: Apache-2.0
// A sandbox's worker and its queue: one call at a time.
#pragma once

#include <caf/typed_event_based_actor.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <utility>

#include "actors/base/ask.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/interfaces.hpp"

namespace warpsmith::actors {

/// The sandbox as its workers see it: they also send a line about the call in hand.
using SandboxFront = SandboxActor::extend<caf::reacts_to<atom::progress, std::string>>;

/// Used by one sandbox actor alone, which bounds `waiting`.
class Station {
 public:
  using Owner = SandboxFront::pointer;

  Station() = default;
  Station(Owner owner, ActorState& state, SandboxActor worker)
      : owner_(owner), state_(&state), worker_(std::move(worker)) {}

  bool is_open() const { return static_cast<bool>(worker_); }
  bool busy() const { return busy_; }
  size_t waiting() const { return waiting_.size() + patient_.size(); }
  /// Seconds that the worker has spent on answered calls.
  double busy_seconds() const { return std::chrono::duration<double>(worked_).count(); }

  /// Queues one call, whose result the owner passes to `then(Result<Out>)`. Waits for twice the
  /// budget: the backend reports its own deadline unless it hangs. A worker that ends also ends its
  /// owner; `then` is not called, so the asker gets one error and not two.
  template <class Out, class Then, class... Call>
  void pass(std::chrono::milliseconds budget, Then then, const Call&... call) {
    waiting_.push_back(job_of<Out>(budget, std::move(then), call...));
    if (!busy_) next();
  }

  /// The same for a call that waits until no other does, but at most `patience` if it can be
  /// helped.
  template <class Out, class Then, class... Call>
  void pass_if_idle(std::chrono::milliseconds budget, Then then, const Call&... call) {
    patient_.push_back({job_of<Out>(budget, std::move(then), call...), Clock::now() + patience});
    if (!busy_) next();
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Job = std::function<void()>;
  struct Patient {
    Job job;
    Clock::time_point at_last;  // then it goes first
  };
  static constexpr std::chrono::seconds patience{60};

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
    worked_ += Clock::now() - begun_;
    next();
  }
  void next() {
    busy_ = waiting() > 0;
    if (!busy_) return;
    begun_ = Clock::now();
    take()();
  }
  Job take() {
    const bool patient =
        !patient_.empty() && (waiting_.empty() || patient_.front().at_last < begun_);
    Job job = std::move(patient ? patient_.front().job : waiting_.front());
    patient ? patient_.pop_front() : waiting_.pop_front();
    return job;
  }

  Owner owner_ = nullptr;
  ActorState* state_ = nullptr;
  SandboxActor worker_;
  std::deque<Job> waiting_;
  std::deque<Patient> patient_;
  Clock::time_point begun_;
  std::chrono::nanoseconds worked_{0};
  bool busy_ = false;
};

}  // namespace warpsmith::actors
