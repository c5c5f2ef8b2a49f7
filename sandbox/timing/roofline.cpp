// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/roofline.hpp"

namespace warpsmith::sandbox {

double roofline_floor_ms(double written, const MachineLimits& limits) {
  constexpr double slack = 0.5;
  // 1 GB/s moves a million bytes in a millisecond.
  return limits.cache_gbytes_per_s > 0 ? slack * written / limits.cache_gbytes_per_s / 1e6 : 0;
}

}  // namespace warpsmith::sandbox
