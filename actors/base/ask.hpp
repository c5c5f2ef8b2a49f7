// SPDX-License-Identifier: Apache-2.0
// Requests whose answers are reported to the tap, counted and timed like any other delivery.
#pragma once

#include <utility>

#include "actors/base/actor_state.hpp"

namespace warpsmith::actors {

namespace ask_detail {

template <class Self, class Call, class Member, class... Args>
auto visited(Self* self, ActorState* state, const char* name, Call call,
             void (Member::*)(Args...) const) {
  return [self, state, name, call = std::move(call)](Args... args) mutable {
    const auto sender = self->current_sender();
    const ActorState::Visit visit{*state, name, sender ? sender->id() : 0};
    call(static_cast<Args>(args)...);
  };
}
template <class Self, class Call, class Member, class... Args>
auto visited(Self* self, ActorState* state, const char* name, Call call,
             void (Member::*)(Args...)) {
  return visited(self, state, name, std::move(call),
                 static_cast<void (Member::*)(Args...) const>(nullptr));
}

}  // namespace ask_detail

/// A request that was sent; `then` sets the handlers of its answer.
template <class Self, class Handle>
class Asked {
 public:
  Asked(Self* self, ActorState* state, const char* name, Handle handle)
      : self_(self), state_(state), name_(name), handle_(std::move(handle)) {}

  template <class Value, class Failure>
  void then(Value value, Failure failure) {
    handle_.then(
        ask_detail::visited(self_, state_, name_, std::move(value), &Value::operator()),
        ask_detail::visited(self_, state_, name_, std::move(failure), &Failure::operator()));
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
  return Asked<Self, decltype(handle)>{self, &state, name, std::move(handle)};
}

}  // namespace warpsmith::actors
