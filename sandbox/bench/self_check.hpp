// SPDX-License-Identifier: Apache-2.0
// Measures the accuracy of the sequential commit on this machine: the figures of `bench commit`.
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

/// All in microseconds unless named otherwise; medians.
struct SelfCheck {
  double raw_overhead_us = 0;  // a no-op from the ring to `done`
  double subtracted_us = 0;    // a no-op before anything is loaded
  double stop_us = 0;          // from `done` to the confirmed stop
  double noop_us = 0;          // a loaded kernel that returns at once, after subtraction
  double loop_us = 0;          // a kernel that loops for 1,000 µs, after subtraction
  double start_ms = 0;         // to start and calibrate a jailed contestant
};

/// Loops on the monotonic clock for as many microseconds as its only input (int64) says.
extern const char* const self_check_kernel;

/// Fails if no contestant can be started or a call faults.
Result<SelfCheck> self_check(const SelfCheckOptions& options, Deadline deadline);

}  // namespace warpsmith::sandbox
