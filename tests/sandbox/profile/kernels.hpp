// SPDX-License-Identifier: Apache-2.0
// Kernels and a device for tests of profiles.
#pragma once

#include "sandbox/profile/occupancy.hpp"

namespace warpsmith::sandbox::testing {

/// An H100 (SXM): compute capability 9.0 in the CUDA programming guide.
inline DeviceLimits hopper() {
  return {.multiprocessors = 132,
          .threads = 2048,
          .blocks = 32,
          .registers = 65'536,
          .shared_bytes = 233'472,
          .reserved_shared_bytes = 1024};
}

inline ProfiledKernel kernel(const std::string& name, double time_us, uint32_t grid = 1,
                             uint32_t block = 256, uint32_t registers = 32,
                             uint32_t shared_bytes = 0) {
  return {.name = name,
          .time_us = time_us,
          .grid = {grid, 1, 1},
          .block = {block, 1, 1},
          .registers = registers,
          .shared_bytes = shared_bytes};
}

}  // namespace warpsmith::sandbox::testing
