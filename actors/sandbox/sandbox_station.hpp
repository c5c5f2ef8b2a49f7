// SPDX-License-Identifier: Apache-2.0
// A sandbox's worker and the queue before it: one call at a time.
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

/// Owned by one sandbox actor and used by it alone. The owner bounds `waiting`.
class Station {
 public:
  using Owner = SandboxActor::pointer;

  Station() = default;
  Station(Owner owner, ActorState& state, SandboxActor worker)
      : owner_(owner), state_(&state), worker_(std::move(worker)) {}

  bool is_open() const { return static_cast<bool>(worker_); }
  bool busy() const { return busy_; }
  size_t waiting() const { return waiting_.size(); }
  /// Seconds in which the worker had a call, up to the last answer.
  double busy_seconds() const { return std::chrono::duration<double>(worked_).count(); }

  /// Queues one call; `then(Result<Out>)` is called once, by the owner. Twice the budget is
  /// waited for: the backend reports its own deadline unless it hangs. A worker that ends takes its
  /// owner along, and `then` is not called: the asker hears of one end, not of two.
  template <class Out, class Then, class... Call>
  void pass(std::chrono::milliseconds budget, Then then, const Call&... call) {
    waiting_.emplace_back([=, this]() mutable {
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
    });
    if (!busy_) next();
  }

 private:
  void answered() {
    worked_ += std::chrono::steady_clock::now() - begun_;
    next();
  }
  void next() {
    busy_ = !waiting_.empty();
    if (!busy_) return;
    auto job = std::move(waiting_.front());
    waiting_.pop_front();
    begun_ = std::chrono::steady_clock::now();
    job();
  }

  Owner owner_ = nullptr;
  ActorState* state_ = nullptr;
  SandboxActor worker_;
  std::deque<std::function<void()>> waiting_;
  std::chrono::steady_clock::time_point begun_;
  std::chrono::nanoseconds worked_{0};
  bool busy_ = false;
};

}  // namespace warpsmith::actors
