// SPDX-License-Identifier: Apache-2.0
// Turns one call of a contestant into the time that it is charged.
//
// A candidate is a single task, so none of its work proceeds while it is off the core. Time that
// it, or the waiting verifier, spends in the run queue behind other processes (by the kernel's
// scheduler) is subtracted from the elapsed time, for candidate and baselines alike. Time on the
// core counts in full, including that between `done` and the confirmed stop. Sleep counts as
// elapsed time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include "runtime/process/unique_fd.hpp"
#include "sandbox/commit/contestant.hpp"

namespace warpsmith::sandbox {

struct CoreReading {
  std::chrono::nanoseconds on_core{0};  // since the process started
  std::chrono::nanoseconds waited{0};   // runnable while other processes had the core
};

/// Parses "on_core waited slices" in nanoseconds, as in /proc/PID/schedstat.
std::optional<CoreReading> parse_schedstat(std::string_view text);

/// Reads how long a process had its core, by the scheduler's account; empty if the kernel keeps
/// none.
class CoreTime {
 public:
  /// The main thread of a process, by its number in this process's PID namespace.
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
  std::chrono::nanoseconds elapsed{0};          // from the ring to `done`, by the clock
  std::chrono::nanoseconds on_core{0};          // of the contestant, until it is stopped
  std::chrono::nanoseconds contestant_wait{0};  // in the run queue
  std::chrono::nanoseconds verifier_wait{0};
};

/// max(elapsed − waits, on_core) − noop, in milliseconds.
double charged_ms(const CallAccount& account, std::chrono::nanoseconds noop);

/// The most time on the core after `done`, by the scheduler's account; beyond it the contestant is
/// judged to have kept working instead of waiting. The clock would not do, since other processes
/// may delay the stop.
inline constexpr std::chrono::milliseconds max_overtime{20};

struct MeteredCall {
  double charged_ms = 0;   // the time that counts
  double elapsed_ms = 0;   // by the clock only, no-op not subtracted
  double overtime_ms = 0;  // on the core after `done`
  double clock_ms = 0;     // by the clock only, no-op subtracted
  double waited_ms = 0;    // contestant and verifier, runnable behind other processes
  std::optional<Fault> fault;
};

/// The fault of a contestant that exceeded `max_overtime`.
std::optional<Fault> fault_of(const CallAccount& account);

/// Measures one contestant. Use it on the thread that created it.
class CallMeter {
 public:
  using Call = std::function<CallResult()>;
  using nanoseconds = std::chrono::nanoseconds;

  /// A contestant that is one task on a core: the clock, corrected by the scheduler's account.
  static CallMeter by_core(pid_t contestant, nanoseconds noop);
  /// A contestant with threads or work on a device: only the verifier's clock.
  static CallMeter by_clock(nanoseconds noop);
  /// A contestant that reports the device's own events; the verdict checks its report against the
  /// clock (decision.hpp), and the scheduler's account shows whether the clock was disturbed.
  static CallMeter by_device(pid_t contestant, nanoseconds device_noop);

  /// `call` leaves the contestant stopped. `noop`: an empty call just before, which is subtracted
  /// for `clock_ms` in place of the usual one.
  MeteredCall measure(const Call& call, std::optional<nanoseconds> noop = {}) const;

 private:
  struct Accounts {
    CoreTime contestant, verifier;
  };
  struct Reading {
    CoreReading contestant, verifier;
  };
  CallMeter(nanoseconds noop, bool on_device, std::optional<Accounts> accounts)
      : noop_(noop), on_device_(on_device), accounts_(std::move(accounts)) {}
  std::optional<Reading> read() const;

  nanoseconds noop_;  // by the device's events if those are charged
  bool on_device_;
  std::optional<Accounts> accounts_;
};

}  // namespace warpsmith::sandbox
