// SPDX-License-Identifier: Apache-2.0
// What several GPUs evaluate beside one of them, in the same run.
#pragma once

#include "actors/commands/bench/evaluation_rate.hpp"

namespace warpsmith::actors {

struct GpuScaling {
  int64_t gpus = 0;
  EvaluationFigures one, all;  // `all` is empty where it was stopped before

  /// Evaluations per second of all beside those of one; 0 where either has none.
  double ratio() const;
  double ratio_bar() const;
  bool meets_bar() const { return ratio() >= ratio_bar(); }
};

/// Measures `load.evaluations` with the slots of the first GPU alone, then as many for each GPU
/// with all slots. Slot i is on GPU i % gpus. Requires equally many slots on each.
Result<GpuScaling> measure_scaling(const std::vector<SandboxBackendFactory>& slots, int64_t gpus,
                                   EvaluationLoad load);

}  // namespace warpsmith::actors
