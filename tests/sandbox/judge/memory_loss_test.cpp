// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/device_memory.hpp"

#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

constexpr uint64_t gib = 1ULL << 30U;

TEST(MemoryLossTest, MemoryOfWarmLaunchersIsNotALoss) {
  EXPECT_EQ(memory_loss(70 * gib, 70 * gib), MemoryLoss::none);
  EXPECT_EQ(memory_loss(70 * gib, 68 * gib), MemoryLoss::none);
  EXPECT_EQ(memory_loss(70 * gib, 75 * gib), MemoryLoss::none);
}

TEST(MemoryLossTest, ANeighboursBenchIsNotCrippling) {
  EXPECT_EQ(memory_loss(70 * gib, 20 * gib), MemoryLoss::some);
  EXPECT_EQ(memory_loss(70 * gib, gib), MemoryLoss::some);
}

TEST(MemoryLossTest, TooLittleForTheNextCandidateIsCrippling) {
  EXPECT_EQ(memory_loss(70 * gib, gib - 1), MemoryLoss::crippling);
}

TEST(MemoryLossTest, ADeviceThatWasFullBeforeLostNothing) {
  EXPECT_EQ(memory_loss(gib / 2, gib / 2), MemoryLoss::none);
}

}  // namespace
}  // namespace warpsmith::sandbox
