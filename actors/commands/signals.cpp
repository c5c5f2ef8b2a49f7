// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/signals.hpp"

#include <pthread.h>

#include <csignal>
#include <ctime>

namespace warpsmith::actors {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

SignalWait::SignalWait() {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

bool SignalWait::arrived(std::chrono::milliseconds span) const {
  const sigset_t set = stop_signals();
  const timespec wait{span.count() / 1000, (span.count() % 1000) * 1'000'000};
  return sigtimedwait(&set, nullptr, &wait) > 0;
}

}  // namespace warpsmith::actors
