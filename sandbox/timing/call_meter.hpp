// SPDX-License-Identifier: Apache-2.0
// Times calls of one contestant, with the scheduler's account beside the clock.
#pragma once

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
  std::optional<Fault> fault;
};

/// The fault of a contestant that ran on for too long.
std::optional<Fault> fault_of(const CallAccount& account);

/// For one contestant and the thread that made it.
class CallMeter {
 public:
  CallMeter(pid_t contestant, std::chrono::nanoseconds noop)
      : contestant_(CoreTime::of(contestant)), own_(CoreTime::of_this_thread()), noop_(noop) {}

  /// `call` gives a CallResult and leaves the contestant stopped.
  template <class Call>
  MeteredCall measure(Call call) const {
    const auto theirs = contestant_.read();
    const auto ours = own_.read();
    const CallResult result = call();
    return account(result, theirs, ours);
  }

 private:
  MeteredCall account(const CallResult& result, const std::optional<CoreReading>& theirs,
                      const std::optional<CoreReading>& ours) const;

  CoreTime contestant_, own_;
  std::chrono::nanoseconds noop_;
};

}  // namespace warpsmith::sandbox
