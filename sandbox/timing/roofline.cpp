// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/roofline.hpp"

#include <algorithm>

namespace warpsmith::sandbox {

double roofline_floor_ms(double bytes, double product_flops, const MachineLimits& limits) {
  constexpr double slack = 0.5;
  // 1 GB/s moves a million bytes in a millisecond.
  const double moving = limits.cache_gbytes_per_s > 0 ? bytes / limits.cache_gbytes_per_s / 1e6 : 0;
  const double counting = limits.gflops_per_s > 0 ? product_flops / limits.gflops_per_s / 1e6 : 0;
  return slack * std::max(moving, counting);
}

}  // namespace warpsmith::sandbox
