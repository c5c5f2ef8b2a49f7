// SPDX-License-Identifier: Apache-2.0
// Times calls of one contestant: on a core by the clock and the scheduler's account, on a GPU by
// the device's events and the clock.
#pragma once

#include <functional>

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
  std::optional<Fault> fault;
};

/// The fault of a contestant that exceeded `max_overtime`.
std::optional<Fault> fault_of(const CallAccount& account);

/// Measures one contestant. Use it on the thread that created it.
class CallMeter {
 public:
  using Call = std::function<CallResult()>;
  CallMeter() = default;
  CallMeter(const CallMeter&) = delete;
  CallMeter& operator=(const CallMeter&) = delete;
  virtual ~CallMeter() = default;

  /// Requires that `call` leaves the contestant stopped.
  virtual MeteredCall measure(const Call& call) const = 0;
};

/// For a contestant that works on one core.
class CoreMeter final : public CallMeter {
 public:
  CoreMeter(pid_t contestant, std::chrono::nanoseconds noop)
      : contestant_(CoreTime::of(contestant)), own_(CoreTime::of_this_thread()), noop_(noop) {}
  MeteredCall measure(const Call& call) const override;

 private:
  MeteredCall account(const CallResult& result, const std::optional<CoreReading>& theirs,
                      const std::optional<CoreReading>& ours) const;

  CoreTime contestant_, own_;
  std::chrono::nanoseconds noop_;
};

/// For a contestant whose process may have threads and use a device: charges the verifier's clock
/// alone. Nothing that the process or the scheduler reports is subtracted.
class ClockMeter final : public CallMeter {
 public:
  explicit ClockMeter(std::chrono::nanoseconds noop) : noop_(noop) {}
  MeteredCall measure(const Call& call) const override;

 private:
  std::chrono::nanoseconds noop_;
};

/// For a contestant that works on a GPU and reports the device time. Charges the reported time,
/// less the no-op by the device's events; verdict_of.hpp compares it with the clock.
class DeviceMeter final : public CallMeter {
 public:
  explicit DeviceMeter(std::chrono::nanoseconds noop) : noop_(noop) {}
  MeteredCall measure(const Call& call) const override;

 private:
  std::chrono::nanoseconds noop_;  // by the device's events
};

}  // namespace warpsmith::sandbox
