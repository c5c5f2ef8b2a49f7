// SPDX-License-Identifier: Apache-2.0
// Times calls of one contestant, with the scheduler's account beside the clock.
#pragma once

#include "sandbox/commit/contestant.hpp"
#include "sandbox/timing/core_time.hpp"

namespace warpsmith::sandbox {

struct MeteredCall {
  double charged_ms = 0;   // what counts
  double elapsed_ms = 0;   // by the clock alone, no-op not subtracted
  double overtime_ms = 0;  // on the core after `done`
  std::optional<Fault> fault;
};

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
