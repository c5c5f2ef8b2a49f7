// SPDX-License-Identifier: Apache-2.0
// A plan's steps made ready, and as CUDA graphs, one for each buffer set. Sources built with the
// toolkit only.
#pragma once

#include <vector>

#include "sandbox/launch/step_libraries.hpp"

namespace warpsmith::sandbox {

/// Makes steps ready and records them.
class SetGraphs {
 public:
  /// All four outlive it. The libraries were opened for this plan.
  SetGraphs(const cuda::Context& context, const cuda::KernelModule* module, const BoundPlan& plan,
            StepLibraries& libraries)
      : context_(context), module_(module), plan_(plan), libraries_(libraries) {}

  /// Once, before the others. An error names the line of what the device or a library refuses.
  Result<void> prepare();
  /// The steps over one set's buffers, ready to be launched. An error as above.
  Result<cuda::GraphExec> record(CUstream stream, const DeviceBases& bases);
  /// Launches them one by one, over a set that was recorded. Throws DeviceError.
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
  const cuda::KernelModule* module_;  // null where no step launches
  const BoundPlan& plan_;
  StepLibraries& libraries_;
  std::vector<Ready> steps_;
};

}  // namespace warpsmith::sandbox
