// SPDX-License-Identifier: Apache-2.0
// Figures worked out by hand for compute capability 9.0: 64 warps, 32 blocks, 4 partitions of
// 16,384 registers, and 228 KiB of shared memory, of which every block takes 1 KiB more than it
// requests.
#include "sandbox/profile/occupancy.hpp"

#include <gtest/gtest.h>

#include "tests/sandbox/profile/kernels.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::hopper;
using testing::kernel;

void expect(const ProfiledKernel& of, uint32_t blocks, double share, OccupancyLimit limit) {
  const auto occupancy = occupancy_of(of, hopper());
  ASSERT_TRUE(occupancy);
  EXPECT_EQ(occupancy->blocks, blocks);
  EXPECT_DOUBLE_EQ(occupancy->share, share);
  EXPECT_EQ(occupancy->limit, limit) << to_string(occupancy->limit);
}

TEST(OccupancyTest, ThreadsFillAMultiprocessor) {
  expect(kernel("k", 1, 264, 256, 32), 8, 1, OccupancyLimit::threads);
  // Four warps per block, the last one partly filled.
  expect(kernel("k", 1, 1, 100, 32), 16, 1, OccupancyLimit::threads);
}

TEST(OccupancyTest, SmallBlocksAreLimitedInNumber) {
  expect(kernel("k", 1, 1, 32, 32), 32, 0.5, OccupancyLimit::blocks);
}

TEST(OccupancyTest, RegistersAreTakenInWholeUnitsByWarp) {
  // 65 * 32 = 2,080 rounds up to 2,304: 7 warps per partition, 28 in all, 3 blocks of 8.
  expect(kernel("k", 1, 1, 256, 65), 3, 24.0 / 64, OccupancyLimit::registers);
  // 64 * 32 = 2,048: 8 warps per partition, 32 in all, 1 block of 32.
  expect(kernel("k", 1, 1, 1024, 64), 1, 0.5, OccupancyLimit::registers);
}

TEST(OccupancyTest, CountsTheSystemsSharedMemoryForEveryBlock) {
  // 40,960 + 1,024 = 41,984: five fit in 233,472.
  expect(kernel("k", 1, 1, 128, 32, 40 << 10), 5, 20.0 / 64, OccupancyLimit::shared_memory);
  // The most that one block may have.
  expect(kernel("k", 1, 1, 128, 32, 227 << 10), 1, 4.0 / 64, OccupancyLimit::shared_memory);
}

TEST(OccupancyTest, AKernelThatDoesNotFitHasNoBlocks) {
  // 96 * 32 = 3,072: 5 warps per partition, 20 in all, but a block has 32.
  expect(kernel("k", 1, 1, 1024, 96), 0, 0, OccupancyLimit::registers);
  ProfiledKernel impossible = kernel("k", 1);
  impossible.block = {42'009'217, 6'700'417, 65'535};  // 2^64 - 1 threads
  expect(impossible, 0, 0, OccupancyLimit::threads);
}

TEST(OccupancyTest, WavesCountTheWholeDevice) {
  EXPECT_DOUBLE_EQ(occupancy_of(kernel("k", 1, 264), hopper())->waves, 0.25);
}

TEST(OccupancyTest, IsEmptyWithoutABlockOrADevice) {
  EXPECT_FALSE(occupancy_of({.kind = cuda::RecordKind::fill, .name = "fill"}, hopper()));
  EXPECT_FALSE(occupancy_of(kernel("k", 1), DeviceLimits{}));
}

}  // namespace
}  // namespace warpsmith::sandbox
