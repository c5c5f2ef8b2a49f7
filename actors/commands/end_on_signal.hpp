// SPDX-License-Identifier: Apache-2.0
// Ctrl-C while a service judges: it ends, with all that it started, before the command does.
#pragma once

#include <chrono>
#include <memory>
#include <thread>

#include "actors/commands/signals.hpp"
#include "sandbox/service/client.hpp"

namespace warpsmith::actors {

/// Throws its switch once the first signal came, so that no call waits minutes for its end. Refers
/// to `signals`.
class EndOnSignal {
 public:
  explicit EndOnSignal(const SignalWait& signals)
      : watcher_([&signals, ender = ender_](const std::stop_token& over) {
          while (!over.stop_requested()) {
            if (signals.arrived(glance)) return ender->end_services();
          }
        }) {}
  const std::shared_ptr<sandbox::EndSwitch>& ender() const { return ender_; }

 private:
  static constexpr std::chrono::milliseconds glance{20};  // at most so long is its end waited for
  std::shared_ptr<sandbox::EndSwitch> ender_ = std::make_shared<sandbox::EndSwitch>();
  std::jthread watcher_;
};

}  // namespace warpsmith::actors
