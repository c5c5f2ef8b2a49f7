// SPDX-License-Identifier: Apache-2.0
// How long a process had its core, by the kernel's scheduler.
//
// A candidate is a single task, so none of its work proceeds while it is off the core. Time that
// it, or the waiting verifier, spends in the run queue behind other processes is subtracted from
// the elapsed time, for candidate and baselines alike. Time on the core counts in full, including
// that between `done` and the confirmed stop. Sleep counts as elapsed time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string_view>

#include "runtime/process/unique_fd.hpp"

namespace warpsmith::sandbox {

struct CoreReading {
  std::chrono::nanoseconds on_core{0};  // since the process started
  std::chrono::nanoseconds waited{0};   // runnable, but behind other processes
};

/// Parses "on_core waited slices" in nanoseconds, as in /proc/PID/schedstat.
std::optional<CoreReading> parse_schedstat(std::string_view text);

/// Reads one process's account; empty where the kernel keeps none.
class CoreTime {
 public:
  /// The main thread of a process, by its number in our pid namespace.
  static CoreTime of(pid_t pid);
  /// The calling thread; read it only there.
  static CoreTime of_this_thread();

  std::optional<CoreReading> read() const;

 private:
  explicit CoreTime(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

/// The account of one call, from before the ring to after the stop.
struct CallAccount {
  std::chrono::nanoseconds elapsed{0};          // from the ring to `done`, by our clock
  std::chrono::nanoseconds on_core{0};          // of the contestant, until it is stopped
  std::chrono::nanoseconds contestant_wait{0};  // in the run queue
  std::chrono::nanoseconds verifier_wait{0};
};

/// max(elapsed − waits, on_core) − noop, in milliseconds.
double charged_ms(const CallAccount& account, std::chrono::nanoseconds noop);

}  // namespace warpsmith::sandbox
