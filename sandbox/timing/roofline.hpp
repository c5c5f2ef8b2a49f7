// SPDX-License-Identifier: Apache-2.0
// A lower bound for the time of every honest kernel on this machine.
#pragma once

namespace warpsmith::sandbox {

/// Measured limits of one core or one GPU (see machine.hpp).
struct MachineLimits {
  double cache_gbytes_per_s = 0;   // for data in the caches; the floor uses this one
  double memory_gbytes_per_s = 0;  // for data beyond the caches
  double gflops_per_s = 0;         // a fused multiply-add of float32 counts as two
};

/// Half of what the limits allow, so that limits measured on a busy machine accuse no honest
/// kernel. `written`: bytes of the outputs, the only traffic that no correct implementation can
/// avoid. What a reference reads and computes may be unnecessary (the product with a diagonal
/// matrix).
double roofline_floor_ms(double written, const MachineLimits& limits);

}  // namespace warpsmith::sandbox
