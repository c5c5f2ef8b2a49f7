// SPDX-License-Identifier: Apache-2.0
// Starts a candidate of contract `cpu`: our runner in the run jail, calibrated, then loaded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "sandbox/commit/contestant.hpp"
#include "sandbox/commit/shared_buffers.hpp"

namespace warpsmith::sandbox {

struct CpuContestantSpec {
  std::string runner;         // path of warpsmith-sandbox on the host
  std::string artefact;       // bytes of the shared object
  std::vector<int64_t> dims;  // the third argument of `solve`
  CandidateMemory memory;     // host memory; the outputs are this contestant's alone
  std::optional<int> core;    // pin the calling thread to it too (CorePin): across cores a ring
                              // costs 40 us instead of 12
  JailLimits limits;
  int calibration_calls = 128;
};

/// A contestant that is jailed, calibrated by no-ops and stopped. `load` will load the candidate's
/// code. An error is a failure of ours.
OrFailure<Contestant> start_cpu_contestant(const CpuContestantSpec& spec, Deadline deadline);

}  // namespace warpsmith::sandbox
