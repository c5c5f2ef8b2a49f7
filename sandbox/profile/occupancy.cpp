// SPDX-License-Identifier: Apache-2.0
#include "sandbox/profile/occupancy.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace warpsmith::sandbox {
namespace {

constexpr uint32_t warp_threads = 32;
constexpr uint32_t register_granularity = 256;  // registers; granularity of a warp's allocation
constexpr uint32_t shared_granularity = 128;    // bytes; granularity of a block's allocation
constexpr uint32_t partitions = 4;              // parts of a multiprocessor's register file
constexpr uint64_t no_limit = std::numeric_limits<uint32_t>::max();

uint64_t rounded_up(uint64_t value, uint64_t granularity) {
  return (value + granularity - 1) / granularity * granularity;
}

uint64_t product(const std::array<uint32_t, 3>& extents) {
  return uint64_t{extents[0]} * extents[1] * extents[2];
}

/// Each partition holds whole warps.
uint64_t blocks_by_registers(uint64_t warps, uint32_t registers, const DeviceLimits& limits) {
  if (registers == 0) return no_limit;
  const uint64_t of_warp = rounded_up(uint64_t{registers} * warp_threads, register_granularity);
  return limits.registers / partitions / of_warp * partitions / warps;
}

uint64_t blocks_by_shared(uint64_t bytes, const DeviceLimits& limits) {
  const uint64_t taken = rounded_up(bytes + limits.reserved_shared_bytes, shared_granularity);
  return taken == 0 ? no_limit : limits.shared_bytes / taken;
}

struct Bound {
  OccupancyLimit limit = OccupancyLimit::threads;
  uint64_t blocks = 0;
};

/// The tightest bound; the first of equal ones.
Bound tightest(uint64_t warps, const ProfiledKernel& kernel, const DeviceLimits& limits) {
  const std::array bounds{
      Bound{OccupancyLimit::threads, limits.threads / warp_threads / warps},
      Bound{OccupancyLimit::blocks, limits.blocks},
      Bound{OccupancyLimit::registers, blocks_by_registers(warps, kernel.registers, limits)},
      Bound{OccupancyLimit::shared_memory, blocks_by_shared(kernel.shared_bytes, limits)}};
  return *std::ranges::min_element(bounds, {}, &Bound::blocks);
}

}  // namespace

std::optional<Occupancy> occupancy_of(const ProfiledKernel& kernel, const DeviceLimits& limits) {
  const uint64_t threads = product(kernel.block);
  const uint32_t most_warps = limits.threads / warp_threads;
  if (threads == 0 || most_warps == 0 || limits.multiprocessors == 0) return std::nullopt;
  const uint64_t warps = (threads - 1) / warp_threads + 1;
  const Bound bound = tightest(warps, kernel, limits);
  Occupancy occupancy{.blocks = static_cast<uint32_t>(bound.blocks), .limit = bound.limit};
  occupancy.share = static_cast<double>(bound.blocks * warps) / most_warps;
  if (bound.blocks > 0) {
    occupancy.waves = static_cast<double>(product(kernel.grid)) /
                      (static_cast<double>(bound.blocks) * limits.multiprocessors);
  }
  return occupancy;
}

}  // namespace warpsmith::sandbox
