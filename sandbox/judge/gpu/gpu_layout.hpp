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

/// The memory constraints of a task's bench on a GPU, in bytes.
struct GpuRoom {
  uint64_t available = 0;  // for the bench and everything below
  uint64_t worker = 0;     // the reference worker's own memory during a session with the task
  uint64_t cache = 0;      // the second-level cache
};

/// One set is enough if it takes so many times the second-level cache. Several sets rotate only so
/// that no call finds its inputs cached, and every call is preceded by a sweep of the cache. Code
/// that gave its lines priority over the sweep's would gain at most this share: 3 %.
inline constexpr uint64_t caches_in_single_set = 32;

/// Three sets, or else two, if bench and worker then take at most half of the memory, because the
/// candidate needs some too; otherwise one if that is large (`caches_in_single_set`), else two.
/// `capacity`, with both numbers, if that does not fit.
Result<BufferLayout> gpu_layout(const TaskSignature& signature, const GpuRoom& room);

/// A region up to this size is always kept for the next task.
inline constexpr uint64_t always_kept = 1ULL << 30U;

/// Whether memory of `held` bytes is kept for a task that needs `needed`: large enough, but not far
/// too large.
bool gpu_memory_fits(uint64_t held, uint64_t needed);

}  // namespace warpsmith::sandbox
