// SPDX-License-Identifier: Apache-2.0
// The process of a candidate of contract `cpu`: the verifier starts the runner in the run jail and
// calibrates it; the runner loads the candidate. The runner knows no verdict, clock, seed or
// expected value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/describe.hpp"
#include "runtime/result.hpp"
#include "sandbox/commit/contestant.hpp"
#include "sandbox/commit/shared_buffers.hpp"

namespace warpsmith::sandbox {

// The numbers of the runner's descriptors.
inline constexpr int runner_control_fd = 3;
inline constexpr int runner_inputs_fd = 4;
inline constexpr int runner_outputs_fd = 5;
inline constexpr int runner_plan_fd = 6;  // sealed bytes of a RunnerPlan
inline constexpr const char* runner_artefact_path = "/kernel.so";

/// What the runner gets at its start.
struct RunnerPlan {
  BufferLayout layout;
  std::vector<int64_t> dims;

  WARPSMITH_RECORD(layout, dims)
  /// Every tensor lies within its memory.
  Result<void> validate() const;
};

/// Pointers that `solve` gets for one set.
struct SetPointers {
  std::vector<const void*> in;
  std::vector<void*> out;
};
/// Requires a valid plan and mappings of the layout's total sizes.
std::vector<SetPointers> pointers_of(const RunnerPlan& plan, std::byte* inputs, std::byte* outputs);

/// The runner's main function: maps the memories and serves commands. Returns the exit code.
int run_runner();

// The outer side.

struct CpuContestantSpec {
  std::string runner;         // path of warpsmith-sandbox on the host
  std::string artefact;       // bytes of the shared object
  std::vector<int64_t> dims;  // the third argument of `solve`
  CandidateMemory memory;     // host memory; only this contestant gets the outputs
  std::optional<int> core;    // pin the calling thread to it too (CorePin): across cores a ring
                              // costs 40 us instead of 12
  JailLimits limits;
  int calibration_calls = 128;
};

/// A contestant that is jailed, calibrated by no-ops and stopped. `load` will load the candidate's
/// code. An error is internal.
OrFailure<Contestant> start_cpu_contestant(const CpuContestantSpec& spec, Deadline deadline);

}  // namespace warpsmith::sandbox
