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
  std::vector<int64_t> dims;  // what `solve` gets as its third argument
  CandidateMemory memory;     // the host's; outputs of this contestant alone
  std::optional<int> core;    // where the calling thread is pinned too (CorePin): across
                              // cores a ring costs 40 µs instead of 12
  JailLimits limits;
  int calibration_calls = 128;
};

/// A contestant that is jailed, calibrated by no-ops and stopped. The candidate's code is not
/// loaded yet: `load` does that. Failures are ours (infrastructure), never the candidate's.
Result<Contestant> start_cpu_contestant(const CpuContestantSpec& spec, Deadline deadline);

}  // namespace warpsmith::sandbox
