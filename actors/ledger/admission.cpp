// SPDX-License-Identifier: Apache-2.0
#include "actors/ledger/admission.hpp"

#include <algorithm>
#include <cmath>

namespace warpsmith::actors {
namespace {

constexpr double largest = 1e15;  // exact as a double, far beyond any run

}  // namespace

uint64_t admission_capacity(const AdmissionLimits& limits, const AdmissionView& view) {
  const double batch = std::isfinite(view.trajectories_per_step)
                           ? std::clamp(view.trajectories_per_step, 1.0, largest)
                           : 1.0;
  const double allowed = std::min(std::floor((double{1} + limits.max_lag) * batch), largest);
  const uint64_t bound = std::min(static_cast<uint64_t>(allowed), limits.max_in_flight);
  if (bound > view.untrained) return bound - view.untrained;
  return view.learner_starves && view.untrained < limits.max_in_flight ? 1 : 0;
}

StepRate::StepRate(double expected, double memory)
    : mean_(std::max(expected, 1.0)), memory_(std::max(memory, 1.0)) {}

void StepRate::observe(uint64_t trajectories) {
  ++seen_;
  const double weight = 1.0 / std::min(static_cast<double>(seen_), memory_);
  mean_ = std::max(1.0, mean_ + weight * (static_cast<double>(trajectories) - mean_));
}

}  // namespace warpsmith::actors
