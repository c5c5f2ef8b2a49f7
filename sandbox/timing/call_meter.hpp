// SPDX-License-Identifier: Apache-2.0
// Turns one call of a contestant into the time that it is charged.
#pragma once

#include <functional>
#include <optional>

#include "sandbox/commit/contestant.hpp"
#include "sandbox/timing/core_time.hpp"

namespace warpsmith::sandbox {

/// The most time on the core after `done`, by the scheduler's account; beyond it the contestant is
/// judged to have kept working instead of waiting. The clock would not do, since other processes
/// may delay the stop.
inline constexpr std::chrono::milliseconds max_overtime{20};

struct MeteredCall {
  double charged_ms = 0;   // the time that counts
  double elapsed_ms = 0;   // by the clock alone, no-op not subtracted
  double overtime_ms = 0;  // on the core after `done`
  double clock_ms = 0;     // by the clock alone, no-op subtracted
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

  /// A contestant that is one task on a core: the clock, corrected by the scheduler's account
  /// (core_time.hpp).
  static CallMeter by_core(pid_t contestant, nanoseconds noop);
  /// A contestant with threads or work on a device: the verifier's clock alone.
  static CallMeter by_clock(nanoseconds noop);
  /// A contestant that reports the device's own events; the verdict holds its report against the
  /// clock (device_clock.hpp), and the scheduler's account tells whether the clock was disturbed.
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
