// SPDX-License-Identifier: Apache-2.0
// Where an actor that computes for long leaves its status, so that another one answers for it.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include "actors/protocol/messages.hpp"

namespace warpsmith::actors {

/// Written by one actor, read by any. Each call takes microseconds.
class StatusBoard {
 public:
  using Clock = std::chrono::steady_clock;

  /// A handler begins.
  void enter() {
    const std::lock_guard lock(mutex_);
    since_ = Clock::now();
  }
  /// It ended with this status.
  void leave(ActorStatus status) {
    const std::lock_guard lock(mutex_);
    status_ = std::move(status);
    since_.reset();
  }
  /// How long the present handler has taken; 0 between handlers.
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

}  // namespace warpsmith::actors
