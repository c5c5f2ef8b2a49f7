// SPDX-License-Identifier: Apache-2.0
// The mark of tokens that a brain gave instead of the model: their log-probability is unknown under
// any weights, so their trajectories serve evaluation and supervised learning only.
#pragma once

#include <limits>

#include "runtime/segment.hpp"

namespace warpsmith {

/// Not a number, so that no arithmetic can take it for one.
inline constexpr float unknown_log_prob = std::numeric_limits<float>::quiet_NaN();
/// Incarnations count from 1, so no weights have this version.
inline constexpr PolicyVersion no_weights{0, 0};

}  // namespace warpsmith
