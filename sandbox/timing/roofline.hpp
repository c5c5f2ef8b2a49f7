// SPDX-License-Identifier: Apache-2.0
// Times that this machine's measured rates allow.
#pragma once

#include <algorithm>

namespace warpsmith::sandbox {

/// Measured limits of one core or one GPU (see machine.hpp).
struct MachineLimits {
  double cache_gbytes_per_s = 0;   // for data in the caches; used by the floor
  double memory_gbytes_per_s = 0;  // for data beyond the caches; used by the roofline
  double gflops_per_s = 0;         // a fused multiply-add of float32 counts as two
};

/// Milliseconds for `amount` at `rate`: 1e9 per second is a million in a millisecond. A rate of
/// zero is unknown and takes no time.
inline double ms_at(double rate, double amount) {
  return rate > 0 ? amount / rate / 1e6 : 0;
}

/// A lower bound for the time of every honest kernel: half of what the limits allow, so that limits
/// measured on a busy machine accuse no honest kernel. `written`: bytes of the outputs, the only
/// traffic that no correct implementation can avoid. What a reference reads and computes may be
/// unnecessary (the product with a diagonal matrix).
inline double floor_ms(double written, const MachineLimits& limits) {
  constexpr double slack = 0.5;
  return slack * ms_at(limits.cache_gbytes_per_s, written);
}

/// The time of a kernel that moves `bytes` between memory and processor and computes `flops` in
/// float32, both at the measured rates and at the same time. A kernel that avoids the reference's
/// work, or computes in a narrower type, may take less.
inline double roofline_ms(double bytes, double flops, const MachineLimits& limits) {
  return std::max(ms_at(limits.memory_gbytes_per_s, bytes), ms_at(limits.gflops_per_s, flops));
}

}  // namespace warpsmith::sandbox
