// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/signals.hpp"

#include <pthread.h>

#include <cstdlib>
#include <iostream>
#include <utility>

#include "runtime/log.hpp"

namespace warpsmith::actors {
namespace {

constexpr int interrupted = 130;  // what a shell answers for a program that SIGINT ended

// `timeout` and others signal a process and then its group: that is one wish to stop.
constexpr std::chrono::milliseconds one_press{300};

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

SignalWait::SignalWait(std::string words) : words_(std::move(words)) {
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

/// The ledger has what it answered, and the sandboxes end with their sockets.
void SignalWait::listen() {
  const sigset_t set = stop_signals();
  while (true) {
    int number = 0;
    if (sigwait(&set, &number) != 0) continue;
    const std::lock_guard lock(mutex_);
    if (closing_) return;
    const auto now = SteadyClock::now();
    if (first_ && now - *first_ < one_press) continue;
    if (one_ends_) {
      log::flush();
      std::_Exit(interrupted);
    }
    if (!first_ && !words_.empty()) std::cerr << words_ + '\n';
    waiting_ = one_ends_ = true;
    first_ = now;
    changed_.notify_all();
  }
}

bool SignalWait::arrived(std::chrono::milliseconds span) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, span, [this] { return waiting_; });
  return std::exchange(waiting_, false);
}

bool SignalWait::came() const {
  const std::lock_guard lock(mutex_);
  return first_.has_value();
}

void SignalWait::first_ends() const {
  const std::lock_guard lock(mutex_);
  one_ends_ = true;
}

}  // namespace warpsmith::actors
