// SPDX-License-Identifier: Apache-2.0
// The `device` contract: kernels.cu and plan.toml of a submission, to what a launcher carries out.
// No host code of the candidate exists here.
#pragma once

#include <map>
#include <string>

#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "sandbox/compile/compiled.hpp"
#include "sandbox/compile/cubin.hpp"
#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::sandbox {

/// Everything about it was checked that can be checked without a GPU.
struct DeviceCandidate {
  BoundPlan plan;
  std::string cubin;        // empty: the plan launches no kernel
  CubinFacts facts;         // of the cubin
  std::string explanation;  // for people and agents: lines of text
};

/// A submission made ready for a launcher, or the class that it fails with.
struct DeviceBuild {
  OrFailed<DeviceCandidate> candidate;
  std::map<std::string, std::string> jail;  // of the compiler; empty where none ran
  std::map<std::string, double> phase_ms;   // "compile", "prepare": of the task
};

/// Reads plan.toml. `compile_error` where it is missing, or names each place that is wrong.
OrFailed<Plan> device_plan(const FileSet& files);

/// Some variant launches a kernel: kernels.cu has to be there.
bool launches_kernels(const Plan& plan);

/// Binds the plan to the task's extents and matches it with the compiled kernels. `compiled` is
/// empty where none is launched. `compile_error` names each place that is wrong.
OrFailed<DeviceCandidate> device_candidate(const Plan& plan, Compiled compiled,
                                           const TaskSignature& signature, PrecisionLane lane);

}  // namespace warpsmith::sandbox
