// SPDX-License-Identifier: Apache-2.0
// Computes how much device memory a task's bench takes.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "runtime/result.hpp"
#include "sandbox/commit/shared_buffers.hpp"

namespace warpsmith::sandbox {

/// The bench's memories on a GPU, in this order.
enum class GpuRegion : uint8_t { inputs, candidate, worker, result };
inline constexpr size_t gpu_region_count = 4;
using GpuRegionBytes = std::array<uint64_t, gpu_region_count>;

/// Bytes of each region, in whole pieces of 2 MiB, the device's unit of allocation.
GpuRegionBytes gpu_region_bytes(const TaskSignature& signature, const BufferLayout& layout);
uint64_t total_of(const GpuRegionBytes& bytes);

/// Three sets if the bench then takes at most half of `available` bytes, because the reference
/// worker and the candidate's scratch need memory too; otherwise two. `capacity`, with both
/// numbers, if two sets do not fit.
Result<BufferLayout> gpu_layout(const TaskSignature& signature, uint64_t available);

/// A region up to this size is always kept for the next task.
inline constexpr uint64_t always_kept = 1ULL << 30U;

/// Whether memory of `held` bytes is kept for a task that needs `needed`: large enough, but not far
/// too large.
bool gpu_memory_fits(uint64_t held, uint64_t needed);

}  // namespace warpsmith::sandbox
