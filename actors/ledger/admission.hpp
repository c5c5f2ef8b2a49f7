// SPDX-License-Identifier: Apache-2.0
// Pure: the number of trajectories that may start now and still be trained within the allowed lag.
#pragma once

#include <cstdint>

namespace warpsmith::actors {

struct AdmissionLimits {
  uint32_t max_lag = 1;         // optimiser steps that a trained token may trail; 0: synchronous
  uint64_t max_in_flight = 64;  // bound on memory and disk, for every lag
};

/// The state on which admission depends.
struct AdmissionView {
  uint64_t untrained = 0;            // admitted, and neither dropped nor used by a step
  double trajectories_per_step = 1;  // that the learner uses
  bool learner_starves = false;      // it has all of `untrained` and still waits
};

/// Trajectories that may be admitted now. With B trajectories per step, those ahead of a new one
/// take ⌊untrained / B⌋ steps, which must not exceed max_lag; so (max_lag + 1)·B may be untrained.
/// With exactly B per step this is AReaL's (max_lag + version + 1)·B − (admitted − dropped)
/// (arXiv 2505.24298, eq. 3), but it also applies when steps are limited by tokens and after a
/// resume. A starving learner gets one more, because its budget was underestimated and it would
/// wait forever.
uint64_t admission_capacity(const AdmissionLimits& limits, const AdmissionView& view);

/// Running mean of trajectories per step, for budgets counted in tokens.
class StepRate {
 public:
  /// `expected` is the value before the first step; the last `memory` steps dominate the mean.
  explicit StepRate(double expected, double memory = 8);
  void observe(uint64_t trajectories);
  double per_step() const { return mean_; }

 private:
  double mean_;
  double memory_;
  uint64_t seen_ = 0;
};

}  // namespace warpsmith::actors
