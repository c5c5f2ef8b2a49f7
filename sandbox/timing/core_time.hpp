// SPDX-License-Identifier: Apache-2.0
// How long a process really had its core, as the kernel's scheduler counts it.
//
// A candidate is one task that nothing helps: while it is not on a core, none of its work gets
// done. So time in which it (or we, who wait for it) stood in the run queue behind somebody else's
// process is taken off the elapsed time, for candidate and baselines alike; and time on the core is
// charged in full, also what it spends between its `done` and the confirmed stop. Sleeping is
// charged as elapsed time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string_view>

#include "runtime/process/unique_fd.hpp"

namespace warpsmith::sandbox {

struct CoreReading {
  std::chrono::nanoseconds on_core{0};  // of the whole life
  std::chrono::nanoseconds waited{0};   // runnable, but behind others
};

/// "on_core waited slices" in nanoseconds, as in /proc/PID/schedstat.
std::optional<CoreReading> parse_schedstat(std::string_view text);

/// Reads one process's account. Nothing where the kernel keeps none.
class CoreTime {
 public:
  /// The main thread of a process, as our pid namespace numbers it.
  static CoreTime of(pid_t pid);
  /// The calling thread. Read it on that thread only.
  static CoreTime of_this_thread();

  std::optional<CoreReading> read() const;

 private:
  explicit CoreTime(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

/// The accounts of one call: before the ring, and after the stop.
struct CallAccount {
  std::chrono::nanoseconds elapsed{0};          // ring to `done`, by our clock
  std::chrono::nanoseconds on_core{0};          // of the contestant, until it was stopped
  std::chrono::nanoseconds contestant_wait{0};  // in the run queue
  std::chrono::nanoseconds verifier_wait{0};
};

/// max(elapsed − waits, on_core) − noop, in milliseconds.
double charged_ms(const CallAccount& account, std::chrono::nanoseconds noop);

}  // namespace warpsmith::sandbox
