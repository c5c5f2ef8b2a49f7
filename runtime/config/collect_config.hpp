// SPDX-License-Identifier: Apache-2.0
// [collect]: the stage that samples trajectories and trains nothing.
#pragma once

#include <cstdint>

#include "runtime/config/complaints.hpp"
#include "runtime/config/fields.hpp"

namespace warpsmith {

struct CollectConfig {
  int64_t samples = 16;  // trajectories of each task in synthesis.tasks
  bool greedy = false;   // takes the likeliest token every time
};

void describe(Fields& fields, CollectConfig& c);

}  // namespace warpsmith
