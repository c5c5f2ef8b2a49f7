// SPDX-License-Identifier: Apache-2.0
// Names the weights: (incarnation, step). Each resume of a run starts a new incarnation.
#pragma once

#include <compare>
#include <cstdint>

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

/// Version lag in optimiser steps. A token of a rolled-back incarnation may carry a later step than
/// the restored one; its lag is the distance in either direction.
inline uint32_t lag_between(PolicyVersion sampled, PolicyVersion current) {
  return sampled.step > current.step ? sampled.step - current.step : current.step - sampled.step;
}

}  // namespace warpsmith
