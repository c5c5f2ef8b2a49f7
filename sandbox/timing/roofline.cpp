// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/roofline.hpp"

#include <algorithm>

namespace warpsmith::sandbox {

namespace {

/// A rate of 1e9 per second does a million in a millisecond.
double ms_at(double rate, double amount) {
  return rate > 0 ? amount / rate / 1e6 : 0;
}

}  // namespace

double floor_ms(double written, const MachineLimits& limits) {
  constexpr double slack = 0.5;
  return slack * ms_at(limits.cache_gbytes_per_s, written);
}

double roofline_ms(double bytes, double flops, const MachineLimits& limits) {
  return std::max(ms_at(limits.memory_gbytes_per_s, bytes), ms_at(limits.gflops_per_s, flops));
}

}  // namespace warpsmith::sandbox
