// SPDX-License-Identifier: Apache-2.0
// Compares with NVIDIA's own calculator, the toolkit's header cuda_occupancy.h.
#include <cuda_occupancy.h>
#include <gtest/gtest.h>

#include "runtime/random_stream.hpp"
#include "tests/sandbox/profile/kernels.hpp"

namespace warpsmith::sandbox {
namespace {

cudaOccDeviceProp properties_of(const DeviceLimits& limits) {
  cudaOccDeviceProp properties;
  properties.computeMajor = 9;
  properties.computeMinor = 0;
  properties.maxThreadsPerBlock = 1024;
  properties.maxThreadsPerMultiprocessor = static_cast<int>(limits.threads);
  properties.regsPerBlock = static_cast<int>(limits.registers);
  properties.regsPerMultiprocessor = static_cast<int>(limits.registers);
  properties.warpSize = 32;
  properties.sharedMemPerBlock = 48 << 10;
  properties.sharedMemPerMultiprocessor = limits.shared_bytes;
  properties.numSms = static_cast<int>(limits.multiprocessors);
  properties.sharedMemPerBlockOptin = 227 << 10;
  properties.reservedSharedMemPerBlock = limits.reserved_shared_bytes;
  return properties;
}

/// Blocks of one multiprocessor.
uint32_t calculated(const ProfiledKernel& kernel, const DeviceLimits& limits) {
  const cudaOccDeviceProp properties = properties_of(limits);
  cudaOccFuncAttributes attributes;
  attributes.maxThreadsPerBlock = 1024;
  attributes.numRegs = static_cast<int>(kernel.registers);
  attributes.sharedSizeBytes = 0;
  attributes.partitionedGCConfig = PARTITIONED_GC_OFF;
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = kernel.shared_bytes;
  attributes.numBlockBarriers = 1;
  cudaOccDeviceState state;
  state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
  cudaOccResult result{};
  const auto code = cudaOccMaxActiveBlocksPerMultiprocessor(
      &result, &properties, &attributes, &state, static_cast<int>(kernel.block[0]),
      kernel.shared_bytes);
  EXPECT_EQ(code, CUDA_OCC_SUCCESS);
  return static_cast<uint32_t>(result.activeBlocksPerMultiprocessor);
}

TEST(OccupancyHeaderTest, AgreesWithTheToolkitsCalculator) {
  const DeviceLimits limits = testing::hopper();
  RandomStream random(5, "occupancy");
  for (int i = 0; i < 20'000; ++i) {
    const auto block = static_cast<uint32_t>(1 + random.below(1024));
    const auto registers = static_cast<uint32_t>(16 + random.below(240));
    const auto shared = static_cast<uint32_t>(random.below((227U << 10U) + 1));
    const ProfiledKernel one =
        testing::kernel("k", 1, 1, block, registers, random.below(2) == 0 ? 0 : shared);
    const auto occupancy = occupancy_of(one, limits);
    ASSERT_TRUE(occupancy);
    ASSERT_EQ(occupancy->blocks, calculated(one, limits))
        << block << " threads, " << registers << " registers, " << one.shared_bytes << " bytes";
  }
}

}  // namespace
}  // namespace warpsmith::sandbox
