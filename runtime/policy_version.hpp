// SPDX-License-Identifier: Apache-2.0
// Names the weights: (incarnation, step). Each resume of a run starts a new incarnation.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>

namespace warpsmith {

struct PolicyVersion {
  uint32_t incarnation = 0;
  uint32_t step = 0;  // optimiser steps since the run began, not since the resume

  auto operator<=>(const PolicyVersion&) const = default;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(incarnation, step);
  }
};

/// Incarnation → the step from which it started.
using RestoredSteps = std::map<uint32_t, uint32_t>;

/// Version lag in optimiser steps: the steps after the last version that both have in common, on
/// both sides. A version that was rolled back to step r has (sampled − r) + (current − r).
inline uint32_t lag_between(PolicyVersion sampled, PolicyVersion current,
                            const RestoredSteps& restored) {
  uint32_t common = std::min(sampled.step, current.step);
  const auto end = restored.upper_bound(current.incarnation);
  for (auto it = restored.upper_bound(sampled.incarnation); it != end; ++it) {
    common = std::min(common, it->second);
  }
  return (sampled.step - common) + (current.step - common);
}

}  // namespace warpsmith
