// SPDX-License-Identifier: Apache-2.0
// The mark of tokens that a brain gave instead of the model: nothing is known of their
// log-probability under any weights.
#pragma once

#include <limits>

#include "runtime/segment.hpp"

namespace warpsmith {

/// Not a number, so that no arithmetic can take it for one.
inline constexpr float unknown_log_prob = std::numeric_limits<float>::quiet_NaN();
/// Incarnations count from 1, so no weights have this version.
inline constexpr PolicyVersion no_weights{0, 0};

/// False if the segment has a sampled token with this mark. Such a trajectory serves evaluation and
/// supervised learning only.
inline bool has_log_probs(const Segment& segment) {
  for (size_t i = 0; i < segment.size(); ++i) {
    const float value = segment.log_probs[i];
    if (segment.action_mask[i] != 0 && !(value == value)) return false;
  }
  return true;
}

}  // namespace warpsmith
