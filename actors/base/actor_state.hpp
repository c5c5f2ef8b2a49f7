// SPDX-License-Identifier: Apache-2.0
// Base of all actors: a label, a meter, and handlers and requests that report to the tap.
#pragma once

#include <c10/util/Exception.h>
#include <caf/error.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "actors/base/tap.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/messages.hpp"
#include "actors/protocol/type_ids.hpp"
#include "runtime/cuda/device_error.hpp"
#include "runtime/log.hpp"

namespace warpsmith::actors {

/// The status of an actor with slow handlers, stored so that another actor can answer for it. One
/// actor writes, any thread reads; each call takes microseconds.
class StatusBoard {
 public:
  using Clock = std::chrono::steady_clock;

  /// Called when a handler begins.
  void enter() {
    const std::lock_guard lock(mutex_);
    since_ = Clock::now();
  }
  /// Called when the handler ends, with the actor's status.
  void leave(ActorStatus status) {
    const std::lock_guard lock(mutex_);
    status_ = std::move(status);
    since_.reset();
  }
  /// How long the current handler has taken; 0 between handlers.
  Clock::duration handling() const {
    const std::lock_guard lock(mutex_);
    return since_ ? Clock::now() - *since_ : Clock::duration{0};
  }
  /// The status after the newest handler; empty before the first one.
  std::optional<ActorStatus> newest() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<ActorStatus> status_;
  std::optional<Clock::time_point> since_;  // absent: between handlers
};

/// An actor's name and tap, set when it is spawned. The tap outlives every actor.
struct Identity {
  std::string label;  // "rollout-0"
  Tap* tap = nullptr;
};

/// Base of every actor's state.
class ActorState {
 public:
  virtual ~ActorState() = default;

  ActorStatus status(atom::status /*unused*/) {
    const auto alive = std::chrono::steady_clock::now() - born_;
    ActorStatus status{identity_.label, {}, handled_, seconds(busy_), seconds(alive)};
    describe(status);
    return status;
  }

  const std::string& label() const { return identity_.label; }

  /// Counts and times one handler.
  class HandlerScope {
   public:
    HandlerScope(ActorState& state, std::string_view handler, uint64_t sender)
        : state_(state), delivery_{state.label(), handler, sender, ++state.handled_} {
      if (state_.board_) state_.board_->enter();
      state_.identity_.tap->delivered(delivery_);
    }
    HandlerScope(const HandlerScope&) = delete;
    HandlerScope& operator=(const HandlerScope&) = delete;
    ~HandlerScope() {
      const auto took = std::chrono::steady_clock::now() - begin_;
      state_.busy_ += took;
      state_.identity_.tap->handled(delivery_, {begin_, took});
      if (state_.board_) state_.board_->leave(state_.status({}));
    }

   private:
    ActorState& state_;
    Delivery delivery_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  };

  Tap* tap() const { return identity_.tap; }
  void set_identity(Identity identity) { identity_ = std::move(identity); }
  /// Writes the status to `board` after each handler.
  void report_to(std::shared_ptr<StatusBoard> board) { board_ = std::move(board); }

 protected:
  /// Adds phase, queue length and gauges.
  virtual void describe(ActorStatus& /*status*/) const {}

 private:
  static double seconds(std::chrono::nanoseconds span) {
    return std::chrono::duration<double>(span).count();
  }

  Identity identity_;
  std::shared_ptr<StatusBoard> board_;  // null: no other actor answers for this one
  uint64_t handled_ = 0;
  std::chrono::nanoseconds busy_{0};
  std::chrono::steady_clock::time_point born_ = std::chrono::steady_clock::now();
};

/// A handler that calls a member of the state and reports the delivery to the tap.
template <class Self, class State, class R, class... Args>
auto on(Self* self, const char* handler, R (State::*member)(Args...)) {
  return [self, handler, member](Args... args) -> R {
    const auto sender = self->current_sender();
    const ActorState::HandlerScope scope{self->state, handler, sender ? sender->id() : 0};
    return (self->state.*member)(static_cast<Args>(args)...);
  };
}

/// The error of an ActorFailure; for any other exception its text under `infrastructure`.
inline Error error_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const ActorFailure& failure) {
    return failure.error();
  } catch (const c10::Error& e) {
    return {ErrorCode::infrastructure, e.what_without_backtrace()};
  } catch (const std::exception& e) {
    return {ErrorCode::infrastructure, e.what()};
  } catch (...) {
    return {ErrorCode::infrastructure, "unknown exception"};
  }
}

/// A DeviceError persists in the process, except that memory taken by another process may become
/// free again.
inline bool loses_device(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const cuda::DeviceError& e) {
    return !e.no_memory();
  } catch (...) {
    return false;
  }
}

/// Logs an exception of a handler and returns it as the actor's exit reason.
inline caf::error ended_by(const ActorState& state, const std::exception_ptr& thrown) {
  const Error error = error_of(thrown);
  log::error(state.label() + " ends: " + error.message);
  return loses_device(thrown) ? to_caf_lost(error) : to_caf_end(error);
}

/// Must be the first call of every actor function: sets the identity, and turns an exception into a
/// logged exit reason, which the supervisor receives.
template <class Self>
void set_up_actor(Self* self, Identity identity) {
  self->state.set_identity(std::move(identity));
  self->set_exception_handler(
      [self](std::exception_ptr& thrown) { return ended_by(self->state, thrown); });
}

namespace ask_detail {

template <class Self, class Call, class Member, class... Args>
auto in_handler_scope(Self* self, ActorState* state, const char* name, Call call,
                      void (Member::*)(Args...) const) {
  return [self, state, name, call = std::move(call)](Args... args) mutable {
    const auto sender = self->current_sender();
    const ActorState::HandlerScope scope{*state, name, sender ? sender->id() : 0};
    call(static_cast<Args>(args)...);
  };
}
template <class Self, class Call, class Member, class... Args>
auto in_handler_scope(Self* self, ActorState* state, const char* name, Call call,
                      void (Member::*)(Args...)) {
  return in_handler_scope(self, state, name, std::move(call),
                          static_cast<void (Member::*)(Args...) const>(nullptr));
}

}  // namespace ask_detail

/// A request that was sent; `then` sets the handlers of its answer.
template <class Self, class Handle>
class PendingRequest {
 public:
  PendingRequest(Self* self, ActorState* state, const char* name, Handle handle)
      : self_(self), state_(state), name_(name), handle_(std::move(handle)) {}

  template <class Value, class Failure>
  void then(Value value, Failure failure) {
    handle_.then(
        ask_detail::in_handler_scope(self_, state_, name_, std::move(value), &Value::operator()),
        ask_detail::in_handler_scope(self_, state_, name_, std::move(failure),
                                     &Failure::operator()));
  }

 private:
  Self* self_;
  ActorState* state_;
  const char* name_;
  Handle handle_;
};

/// Sends a request for `self`, whose state is `state`. The trace calls the answer `name`.
template <class Self, class Receiver, class... Args>
auto ask(Self* self, ActorState& state, const char* name, const Receiver& receiver,
         std::chrono::milliseconds bound, Args&&... args) {
  auto handle = self->request(receiver, bound, std::forward<Args>(args)...);
  return PendingRequest<Self, decltype(handle)>{self, &state, name, std::move(handle)};
}

}  // namespace warpsmith::actors
