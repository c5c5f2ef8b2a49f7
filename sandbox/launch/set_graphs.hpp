// SPDX-License-Identifier: Apache-2.0
// A plan's steps, prepared and recorded as one CUDA graph for each buffer set. Only for sources
// built with the toolkit.
#pragma once

#include <memory>
#include <vector>

#include "sandbox/launch/library_steps.hpp"

namespace warpsmith::sandbox {

/// The libraries that steps of plans call. Each opens once per process, for the first plan that
/// needs it.
struct StepLibraries {
  std::unique_ptr<GemmLibrary> gemm;
  std::unique_ptr<ConvLibrary> conv;

  /// Opens the libraries that the plan's steps call. `unsupported` if the machine lacks one,
  /// which is not the plan's fault. Throws DeviceError. `context` outlives this.
  Result<void> open_for(const BoundPlan& plan, const cuda::Context& context);
};

/// Prepares steps and records them.
class SetGraphs {
 public:
  /// All arguments outlive it. `libraries` must be open for this plan.
  SetGraphs(const cuda::Context& context, const cuda::KernelModule* module, const BoundPlan& plan,
            StepLibraries& libraries)
      : context_(context), module_(module), plan_(plan), libraries_(libraries) {}

  /// Call it once, before the others. An error names the line that the device or a library refuses.
  Result<void> prepare();
  /// The steps over one set's buffers as an executable graph. Errors as above.
  Result<cuda::GraphExec> record(CUstream stream, const DeviceBases& bases);
  /// Launches the steps one by one, over a recorded set. Throws DeviceError.
  void launch(CUstream stream, const DeviceBases& bases) const;

 private:
  struct Ready {
    PlanPlace place;
    Enqueue enqueue;
  };
  Result<Enqueue> ready(const BoundStep& step);
  Result<Enqueue> ready_launch(const BoundLaunch& launch);
  Enqueue ready_memory(const BoundStep& step) const;

  const cuda::Context& context_;
  const cuda::KernelModule* module_;  // null if no step launches
  const BoundPlan& plan_;
  StepLibraries& libraries_;
  std::vector<Ready> steps_;
};

}  // namespace warpsmith::sandbox
