// SPDX-License-Identifier: Apache-2.0
// Ends a sandbox service on Ctrl-C, with everything that it started, before the command ends.
#pragma once

#include <chrono>
#include <memory>
#include <thread>

#include "commands/signals.hpp"
#include "sandbox/service/client.hpp"

namespace warpsmith::commands {

/// Ends all services of its switch when the first signal arrives, so that no call has to be waited
/// for. Keeps a reference to `signals`.
class EndOnSignal {
 public:
  explicit EndOnSignal(const SignalWait& signals)
      : watcher_([&signals, ender = ender_](const std::stop_token& over) {
          while (!over.stop_requested()) {
            if (signals.wait(poll_interval)) return ender->end_services();
          }
        }) {}
  const std::shared_ptr<sandbox::EndSwitch>& ender() const { return ender_; }

 private:
  static constexpr std::chrono::milliseconds poll_interval{20};  // the destructor waits up to this
  std::shared_ptr<sandbox::EndSwitch> ender_ = std::make_shared<sandbox::EndSwitch>();
  std::jthread watcher_;
};

}  // namespace warpsmith::commands
