// SPDX-License-Identifier: Apache-2.0
// How many blocks of a kernel one multiprocessor can hold at once, and what holds back more.
//
// Source: CUDA C++ Programming Guide, "Compute Capabilities", and the granularities of NVIDIA's
// cuda_occupancy.h for compute capability 8 and above; held against that header by a test. What it
// leaves out: a carve-out of shared memory that is smaller than the largest.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sandbox/profile/profiled_kernel.hpp"

namespace warpsmith::sandbox {

/// Of one multiprocessor, as the driver says.
struct DeviceLimits {
  uint32_t multiprocessors = 0;
  uint32_t threads = 0;
  uint32_t blocks = 0;
  uint32_t registers = 0;              // of 32 bits
  uint32_t shared_bytes = 0;           // all that blocks can have together
  uint32_t reserved_shared_bytes = 0;  // that the system takes of each block
};

enum class OccupancyLimit : uint8_t { threads, blocks, registers, shared_memory };
std::string_view to_string(OccupancyLimit limit) noexcept;

struct Occupancy {
  uint32_t blocks = 0;  // of one multiprocessor, at once; 0: does not fit
  double share = 0;     // of the warps that a multiprocessor can hold
  OccupancyLimit limit = OccupancyLimit::threads;
  double waves = 0;  // grid over what the whole device holds at once
};

/// Nothing for a copy or a fill, or where the limits or the block are not known.
std::optional<Occupancy> occupancy_of(const ProfiledKernel& kernel, const DeviceLimits& limits);

}  // namespace warpsmith::sandbox
