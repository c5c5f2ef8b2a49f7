// SPDX-License-Identifier: Apache-2.0
// How many blocks of a kernel one multiprocessor can hold at once, and what limits them.
//
// Source: CUDA C++ Programming Guide, "Compute Capabilities", and the granularities of NVIDIA's
// cuda_occupancy.h for compute capability 8 and above; a test compares with that header. Not
// modelled: a carve-out of shared memory that is smaller than the largest.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/describe.hpp"
#include "sandbox/profile/profiled_kernel.hpp"

namespace warpsmith::sandbox {

/// Limits of one multiprocessor, as the driver reports them.
struct DeviceLimits {
  uint32_t multiprocessors = 0;
  uint32_t threads = 0;
  uint32_t blocks = 0;
  uint32_t registers = 0;              // 32 bits each
  uint32_t shared_bytes = 0;           // total of all blocks
  uint32_t reserved_shared_bytes = 0;  // taken by the system from each block
};

enum class OccupancyLimit : uint8_t { threads, blocks, registers, shared_memory };
constexpr auto names_of(OccupancyLimit) {
  return std::to_array<std::string_view>({"threads", "blocks", "registers", "shared memory"});
}

struct Occupancy {
  uint32_t blocks = 0;  // per multiprocessor at once; 0: does not fit
  double share = 0;     // fraction of the warps that a multiprocessor can hold
  OccupancyLimit limit = OccupancyLimit::threads;
  double waves = 0;  // grid size / blocks that the whole device holds at once
};

/// Empty for a copy or a fill, and where the limits or the block are unknown.
std::optional<Occupancy> occupancy_of(const ProfiledKernel& kernel, const DeviceLimits& limits);

}  // namespace warpsmith::sandbox
