// SPDX-License-Identifier: Apache-2.0
// What every actor has: a label, a meter, and handlers that report to the tap.
#pragma once

#include <c10/util/Exception.h>

#include <caf/error.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "actors/base/status_board.hpp"
#include "actors/base/tap.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/messages.hpp"
#include "actors/protocol/type_ids.hpp"
#include "runtime/cuda/device_error.hpp"
#include "runtime/log.hpp"

namespace warpsmith::actors {

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
  class Visit {
   public:
    Visit(ActorState& state, std::string_view handler, uint64_t sender)
        : state_(state), delivery_{state.label(), handler, sender, ++state.handled_} {
      if (state_.board_) state_.board_->enter();
      state_.identity_.tap->delivered(delivery_);
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    ~Visit() {
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
  void take_identity(Identity identity) { identity_ = std::move(identity); }
  /// Leaves the status there after each handler, for a front that answers.
  void report_to(std::shared_ptr<StatusBoard> board) { board_ = std::move(board); }

 protected:
  /// Adds phase, queue length and gauges.
  virtual void describe(ActorStatus& /*status*/) const {}

 private:
  static double seconds(std::chrono::nanoseconds span) {
    return std::chrono::duration<double>(span).count();
  }

  Identity identity_;
  std::shared_ptr<StatusBoard> board_;  // null: there is no front
  uint64_t handled_ = 0;
  std::chrono::nanoseconds busy_{0};
  std::chrono::steady_clock::time_point born_ = std::chrono::steady_clock::now();
};

/// A handler that calls a member of the state and reports the delivery to the tap.
template <class Self, class State, class R, class... Args>
auto on(Self* self, const char* handler, R (State::*member)(Args...)) {
  return [self, handler, member](Args... args) -> R {
    const auto sender = self->current_sender();
    const ActorState::Visit visit{self->state, handler, sender ? sender->id() : 0};
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

/// A DeviceError sticks to the process; only memory that another process took may come back.
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

/// First call of every actor function: sets the identity, and turns an exception into a logged exit
/// reason, which the supervisor receives.
template <class Self>
void adopt(Self* self, Identity identity) {
  self->state.take_identity(std::move(identity));
  self->set_exception_handler(
      [self](std::exception_ptr& thrown) { return ended_by(self->state, thrown); });
}

}  // namespace warpsmith::actors
