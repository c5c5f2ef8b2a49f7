// SPDX-License-Identifier: Apache-2.0
// Provides device memory for a task's bench: reused or new.
#include <algorithm>

#include "runtime/cuda/device_error.hpp"
#include "sandbox/judge/gpu/device_bench.hpp"
#include "sandbox/judge/seed.hpp"

namespace warpsmith::sandbox {
namespace {

/// The bytes that regions not yet allocated will take.
uint64_t missing(const GpuRegions& regions, const GpuRegionBytes& needed) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < needed.size(); ++i) bytes += regions[i] ? 0 : needed[i];
  return bytes;
}

/// Frees regions that do not fit the task, and all of them if the rest has no room otherwise.
void release_unfit(const GpuDevice& device, GpuRegions& regions, const GpuRegionBytes& needed) {
  for (size_t i = 0; i < needed.size(); ++i) {
    if (regions[i] && !gpu_memory_fits(regions[i]->bytes(), needed[i])) regions[i].reset();
  }
  if (missing(regions, needed) > device.free_memory()) regions = {};
}

/// Erases what earlier candidates and tasks left in reused memory, and old contents in new memory,
/// which the driver does not clear when this process freed it. No contestant may see either.
void scrub(const GpuDevice& device, const GpuRegions& regions) {
  for (const GpuRegion which : {GpuRegion::inputs, GpuRegion::candidate, GpuRegion::worker}) {
    const GpuAllocation& region = *regions[static_cast<size_t>(which)];
    device.set_bytes(region.address(), 0, region.bytes());
  }
  device.synchronize();
}

/// Fills `regions`. Throws DeviceError.
void make_regions(const std::shared_ptr<const GpuDevice>& device, GpuRegions& regions,
                  const GpuRegionBytes& needed) {
  release_unfit(*device, regions, needed);
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!regions[i]) regions[i] = std::make_shared<const GpuAllocation>(device, needed[i]);
  }
  scrub(*device, regions);
}

}  // namespace

uint64_t GpuBenchMemory::held() const {
  uint64_t bytes = 0;
  for (const auto& region : regions) bytes += region ? region->bytes() : 0;
  return bytes;
}

void GpuBenchMemory::release_large() {
  for (auto& region : regions) {
    if (region && region->bytes() > always_kept) region.reset();
  }
}

Result<std::unique_ptr<GpuBench>> GpuBench::create(std::shared_ptr<GpuVerifier> verifier,
                                                   const TaskSignature& signature,
                                                   GpuBenchMemory& memory, uint64_t worker_bytes) {
  const auto device = std::static_pointer_cast<const GpuDevice>(std::move(verifier));
  const auto secret = draw_seed();
  if (!secret) return tl::unexpected(secret.error());
  try {
    const GpuRoom room{
        .available = device->free_memory() + memory.held(),
        .worker = worker_bytes,
        .cache = static_cast<uint64_t>(std::max<int64_t>(device->facts().l2_bytes, 0))};
    auto layout = gpu_layout(signature, room);
    if (!layout) return tl::unexpected(std::move(layout.error()));
    make_regions(device, memory.regions, gpu_region_bytes(signature, *layout));
    return std::make_unique<DeviceBench>(device, signature, std::move(*layout), memory.regions,
                                         secret->seed);
  } catch (const cuda::DeviceError& error) {
    memory.regions = {};
    const bool full = error.code() == CUDA_ERROR_OUT_OF_MEMORY;
    return fail(full ? ErrorCode::capacity : ErrorCode::infrastructure,
                std::string("device memory of the bench: ") + error.what());
  }
}

}  // namespace warpsmith::sandbox
