// SPDX-License-Identifier: Apache-2.0
// Lets an actor that cannot continue ask main to end the run, without losing the work of other
// actors.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/result.hpp"

namespace warpsmith::actors {

/// Shared by main and one actor. Only the first request counts.
class EndRequest {
 public:
  struct Why {
    Error error;
    bool limit = false;  // a configured limit is reached; otherwise a failure
  };

  void ask(Why why) {
    const std::scoped_lock lock{mutex_};
    if (!why_) why_ = std::move(why);
  }
  std::optional<Why> asked() const {
    const std::scoped_lock lock{mutex_};
    return why_;
  }

  /// The number of trajectories that wait only for this actor: if there are no others, the run may
  /// end.
  void set_held(uint64_t count) { held_ = count; }
  uint64_t held() const { return held_; }

 private:
  mutable std::mutex mutex_;
  std::optional<Why> why_;
  std::atomic<uint64_t> held_{0};
};

}  // namespace warpsmith::actors
