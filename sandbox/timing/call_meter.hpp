// SPDX-License-Identifier: Apache-2.0
// Times calls of one contestant: on a core with the scheduler's account beside the clock, on a GPU
// by the device's own events, with the clock beside them.
#pragma once

#include <functional>

#include "sandbox/commit/contestant.hpp"
#include "sandbox/timing/core_time.hpp"

namespace warpsmith::sandbox {

/// A contestant that was on the core for longer than this after its `done` did not wait, as an
/// honest one does: a verdict of its own. By the scheduler's account, since by the clock others'
/// work may delay the stop.
inline constexpr std::chrono::milliseconds max_overtime{20};

struct MeteredCall {
  double charged_ms = 0;   // what counts
  double elapsed_ms = 0;   // by the clock alone, no-op not subtracted
  double overtime_ms = 0;  // on the core after `done`
  double clock_ms = 0;  // by the clock alone, no-op subtracted; a GPU's is told by what roused it
  std::optional<Fault> fault;
};

/// The fault of a contestant that ran on for too long.
std::optional<Fault> fault_of(const CallAccount& account);

/// For one contestant and the thread that made it.
class CallMeter {
 public:
  using Call = std::function<CallResult()>;
  CallMeter() = default;
  CallMeter(const CallMeter&) = delete;
  CallMeter& operator=(const CallMeter&) = delete;
  virtual ~CallMeter() = default;

  /// `call` leaves the contestant stopped.
  virtual MeteredCall measure(const Call& call) const = 0;
};

/// Of a contestant that works on one core.
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

/// Of a contestant whose process may have threads and work on a device: by the verifier's clock
/// alone. Nothing that the process or the scheduler says about it is taken off.
class ClockMeter final : public CallMeter {
 public:
  explicit ClockMeter(std::chrono::nanoseconds noop) : noop_(noop) {}
  MeteredCall measure(const Call& call) const override;

 private:
  std::chrono::nanoseconds noop_;
};

/// Of a contestant that works on a GPU and says how long that took. What it says is charged; who
/// judges holds it against the clock (verdict_of.hpp), less the no-op that `Contestant::rouse`
/// gave.
class DeviceMeter final : public CallMeter {
 public:
  explicit DeviceMeter(std::chrono::nanoseconds noop) : noop_(noop) {}
  MeteredCall measure(const Call& call) const override;

 private:
  std::chrono::nanoseconds noop_;  // by the device's events
};

}  // namespace warpsmith::sandbox
