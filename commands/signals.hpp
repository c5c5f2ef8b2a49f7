// SPDX-License-Identifier: Apache-2.0
// Ctrl-C as a value: signals are blocked in every thread, and one thread of this file receives
// them; another may then end the sandbox services of the command.
#pragma once

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "runtime/clock.hpp"
#include "sandbox/service/client.hpp"

namespace warpsmith::commands {

/// Blocks SIGINT and SIGTERM for this thread and the threads that it starts; children get the old
/// mask back. `wait` and `arrived` report the first signal. A second one, at least 0.3 s later,
/// ends the process with exit code 130, whatever the other threads do. Make it before the first
/// thread.
class SignalWait {
 public:
  /// Prints `message`, if any, on standard error as soon as the first signal arrives.
  explicit SignalWait(std::string message = {});
  SignalWait(const SignalWait&) = delete;
  SignalWait& operator=(const SignalWait&) = delete;
  ~SignalWait();

  /// Waits up to `span`; returns true once, when the first signal has arrived.
  bool wait(std::chrono::milliseconds span) const;
  /// True once the first signal has arrived, whether `wait` has returned it or not.
  bool arrived() const;
  /// From now on the next signal ends the process, even if it is the first.
  void exit_on_next() const;

 private:
  void listen();

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable bool waiting_ = false;       // the first signal arrived, and `wait` has not returned it
  mutable bool exit_on_next_ = false;  // the next signal ends the process
  bool closing_ = false;
  const std::string message_;
  std::optional<SteadyClock::time_point> first_;  // when the first signal arrived
  sigset_t before_{};
  std::thread listener_;
};

/// Ends all sandbox services of its switch, with everything that they started, when the first
/// signal arrives: no call has to be waited for. Keeps a reference to `signals`.
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
