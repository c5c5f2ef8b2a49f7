// SPDX-License-Identifier: Apache-2.0
// A GPU's clocks, power and throttle reasons around the timed blocks of one evaluation.
#pragma once

#include <vector>

#include "runtime/cuda/clock_sample.hpp"

namespace warpsmith::sandbox {

struct ClockRecord {
  /// True: one reading before the first block and one after each. False: readings after blocks
  /// ended with one that took too long; one more followed the last block.
  bool each_block = false;
  double first_reading_ms = 0;  // duration of the first reading
  std::vector<cuda::ClockSample> samples;
};

}  // namespace warpsmith::sandbox
