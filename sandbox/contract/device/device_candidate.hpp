// SPDX-License-Identifier: Apache-2.0
// Turns kernels.cu and plan.toml of a submission of contract `device` into what a launcher
// executes. The candidate has no host code.
#pragma once

#include <string>

#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "sandbox/compile/compiled.hpp"
#include "sandbox/compile/cubin.hpp"
#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::sandbox {

/// Passed every check that needs no GPU.
struct DeviceCandidate {
  BoundPlan plan;
  std::string cubin;        // empty: the plan launches no kernel
  CubinFacts facts;         // of the cubin
  std::string explanation;  // for people and agents: lines of text
};

/// Reads plan.toml. `compile_error` if the file is missing, or with each place that is wrong.
OrFailed<Plan> device_plan(const FileSet& files);

/// Whether a variant launches a kernel, which takes kernels.cu.
bool launches_kernels(const Plan& plan);

/// Binds the plan to the task's extents and matches it with the compiled kernels; `compiled` is
/// empty if no kernel is launched. `compile_error` with each place that is wrong.
OrFailed<DeviceCandidate> device_candidate(const Plan& plan, Compiled compiled,
                                           const TaskSignature& signature, PrecisionLane lane);

}  // namespace warpsmith::sandbox
