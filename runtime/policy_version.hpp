// SPDX-License-Identifier: Apache-2.0
// The version of the weights that sampled a token: (incarnation, step). Each resume of a run starts
// a new incarnation.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <map>

#include "runtime/describe.hpp"

namespace warpsmith {

struct PolicyVersion {
  uint32_t incarnation = 0;
  uint32_t step = 0;  // optimiser steps since the run began, not since the resume

  auto operator<=>(const PolicyVersion&) const = default;

  WARPSMITH_RECORD(incarnation, step)
};

/// Incarnation → the step from which it started.
using RestoredSteps = std::map<uint32_t, uint32_t>;

/// Version lag in optimiser steps: the number of steps on both sides after the last common version.
/// If the sampled version was rolled back to step r, the lag is (sampled − r) + (current − r).
inline uint32_t lag_between(PolicyVersion sampled, PolicyVersion current,
                            const RestoredSteps& restored) {
  uint32_t common = std::min(sampled.step, current.step);
  const auto end = restored.upper_bound(current.incarnation);
  for (auto it = restored.upper_bound(sampled.incarnation); it != end; ++it) {
    common = std::min(common, it->second);
  }
  return (sampled.step - common) + (current.step - common);
}

/// The log-probability of a token that a brain returned instead of the model: unknown under any
/// weights, so its trajectory serves evaluation and supervised learning only. Not a number, so that
/// arithmetic cannot use it by mistake.
inline constexpr float unknown_log_prob = std::numeric_limits<float>::quiet_NaN();
/// The version of such tokens. Incarnations count from 1, so no weights have it.
inline constexpr PolicyVersion no_weights{0, 0};

}  // namespace warpsmith
