// SPDX-License-Identifier: Apache-2.0
// How exact the sequential commit is on this machine now: the figures behind `bench commit`.
#pragma once

#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"

namespace warpsmith::sandbox {

struct SelfCheckOptions {
  std::string runner;    // path of warpsmith-sandbox
  std::string artefact;  // `self_check_kernel`, compiled by the compile service
  std::optional<int> core;
  int calls = 200;  // of each kind
};

/// All in microseconds; medians unless named otherwise.
struct SelfCheck {
  double raw_overhead_us = 0;  // no-op from the ring to `done`
  double subtracted_us = 0;    // a no-op before anything is loaded
  double stop_us = 0;          // from `done` until the stop was confirmed
  double noop_us = 0;          // a loaded kernel that returns at once, after subtraction
  double loop_us = 0;          // a kernel that loops for 1,000 µs, after subtraction
  double start_ms = 0;         // a jailed, calibrated contestant, from nothing
};

/// Loops on the monotonic clock for as many microseconds as its one input (int64) says.
extern const char* const self_check_kernel;

/// Fails when no contestant can be started or a call faults.
Result<SelfCheck> self_check(const SelfCheckOptions& options, Deadline deadline);

}  // namespace warpsmith::sandbox
