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
  size_t waiting() const { return waiting_.size(); }
  /// Seconds that the worker has spent on answered calls.
  double busy_seconds() const { return std::chrono::duration<double>(worked_).count(); }

  /// Queues one call, whose result the owner passes to `then(Result<Out>)`. Waits for twice the
  /// budget: the backend reports its own deadline unless it hangs. A worker that ends also ends its
  /// owner; `then` is not called, so the asker gets one error and not two.
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
