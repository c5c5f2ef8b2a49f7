// SPDX-License-Identifier: Apache-2.0
// Ctrl-C as a value: signals are blocked in every thread and taken by one of their own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "runtime/clock.hpp"

namespace warpsmith::actors {

/// Blocks SIGINT and SIGTERM for this thread and all it starts; children get the old mask back.
/// The first one is asked for with `arrived`; the second, 0.3 s later or more, ends the process
/// with 130, whatever the other threads wait for. Make it before the first thread.
class SignalWait {
 public:
  /// `words`, if any, go to standard error as soon as the first one comes.
  explicit SignalWait(std::string words = {});
  SignalWait(const SignalWait&) = delete;
  SignalWait& operator=(const SignalWait&) = delete;
  ~SignalWait();

  /// Waits up to `span`; true when the first one arrived, once.
  bool arrived(std::chrono::milliseconds span) const;
  /// Whether the first one ever came, asked for or not.
  bool came() const;
  /// Nobody asks any more: from now on the first one ends the process too.
  void first_ends() const;

 private:
  void listen();

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable bool waiting_ = false;   // the first one came and was not asked for yet
  mutable bool one_ends_ = false;  // the next one ends the process
  bool closing_ = false;
  const std::string words_;
  std::optional<SteadyClock::time_point> first_;  // when it came
  sigset_t before_{};
  std::thread listener_;
};

}  // namespace warpsmith::actors
