// SPDX-License-Identifier: Apache-2.0
// The evaluation rate of several GPUs beside that of one, in the same run.
#pragma once

#include "commands/bench/evaluation_rate.hpp"

namespace warpsmith::commands {

struct GpuScaling {
  int64_t gpus = 0;
  EvaluationFigures one, all;  // `all` is empty if it was stopped before

  /// The rate of all over the rate of one; 0 if either is 0.
  double ratio() const;
  double ratio_bar() const;
  bool meets_bar() const { return ratio() >= ratio_bar(); }
};

/// Measures `load.evaluations` with the slots of the first GPU alone, then as many per GPU with all
/// slots. Slot i is on GPU i % gpus; each GPU must have the same number of slots.
Result<GpuScaling> measure_scaling(const std::vector<SandboxBackendFactory>& slots, int64_t gpus,
                                   EvaluationLoad load);

}  // namespace warpsmith::commands
