// SPDX-License-Identifier: Apache-2.0
#include "commands/signals.hpp"

#include <pthread.h>

#include <cstdlib>
#include <iostream>
#include <utility>

#include "runtime/log.hpp"

namespace warpsmith::commands {
namespace {

constexpr int interrupted = 130;  // a shell's exit code for a program that SIGINT ended

// `timeout` and other programs signal a process and then its group: that is one request to stop.
constexpr std::chrono::milliseconds debounce{300};

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

SignalWait::SignalWait(std::string message) : message_(std::move(message)) {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  listener_ = std::thread([this] { listen(); });
}

SignalWait::~SignalWait() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  pthread_kill(listener_.native_handle(), SIGINT);
  listener_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

/// Exits without unwinding: acknowledged records are on disk, and sandboxes end with their sockets.
void SignalWait::listen() {
  const sigset_t set = stop_signals();
  while (true) {
    int number = 0;
    if (sigwait(&set, &number) != 0) continue;
    const std::lock_guard lock(mutex_);
    if (closing_) return;
    const auto now = SteadyClock::now();
    if (first_ && now - *first_ < debounce) continue;
    if (exit_on_next_) {
      log::flush();
      std::_Exit(interrupted);
    }
    if (!first_ && !message_.empty()) std::cerr << message_ + '\n';
    waiting_ = exit_on_next_ = true;
    first_ = now;
    changed_.notify_all();
  }
}

bool SignalWait::wait(std::chrono::milliseconds span) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, span, [this] { return waiting_; });
  return std::exchange(waiting_, false);
}

bool SignalWait::arrived() const {
  const std::lock_guard lock(mutex_);
  return first_.has_value();
}

void SignalWait::exit_on_next() const {
  const std::lock_guard lock(mutex_);
  exit_on_next_ = true;
}

}  // namespace warpsmith::commands
