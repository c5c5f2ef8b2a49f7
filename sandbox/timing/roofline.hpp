// SPDX-License-Identifier: Apache-2.0
// The time that no honest kernel beats on this machine.
#pragma once

namespace warpsmith::sandbox {

/// Measured limits of one core or one GPU (see machine.hpp).
struct MachineLimits {
  double cache_gbytes_per_s = 0;   // of data that the caches hold: the limit that counts
  double memory_gbytes_per_s = 0;  // of data that they do not
  double gflops_per_s = 0;         // float32 fused multiply-adds count as two
};

/// Half of what the limits allow, so that a measurement taken on a busy machine accuses nobody.
/// `written`: bytes of the outputs, the one thing that no right implementation avoids. What a
/// reference reads and computes may be needless (the product with a diagonal matrix).
double roofline_floor_ms(double written, const MachineLimits& limits);

}  // namespace warpsmith::sandbox
