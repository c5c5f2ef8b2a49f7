// SPDX-License-Identifier: Apache-2.0
// Times that this machine's measured rates allow.
#pragma once

namespace warpsmith::sandbox {

/// Measured limits of one core or one GPU (see machine.hpp).
struct MachineLimits {
  double cache_gbytes_per_s = 0;   // for data in the caches; used by the floor
  double memory_gbytes_per_s = 0;  // for data beyond the caches; used by the roofline
  double gflops_per_s = 0;         // a fused multiply-add of float32 counts as two
};

/// A lower bound for the time of every honest kernel: half of what the limits allow, so that limits
/// measured on a busy machine accuse no honest kernel. `written`: bytes of the outputs, the only
/// traffic that no correct implementation can avoid. What a reference reads and computes may be
/// unnecessary (the product with a diagonal matrix).
double floor_ms(double written, const MachineLimits& limits);

/// The time of a kernel that moves `bytes` between memory and processor and computes `flops` in
/// float32, both at the measured rates and at the same time. A kernel that avoids the reference's
/// work, or computes in a narrower type, may take less. A rate of zero is unknown and takes no
/// time.
double roofline_ms(double bytes, double flops, const MachineLimits& limits);

}  // namespace warpsmith::sandbox
