// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/device_memory.hpp"

#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

constexpr uint64_t gib = 1ULL << 30U;

TEST(MemoryHogTest, HoldingMoreThanHalfOfTheFreeMemoryIsAFault) {
  const auto fault = hog_fault(70 * gib, 2 * gib, 66 * gib);
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->outcome, VerdictClass::out_of_memory);
  EXPECT_EQ(fault->blame, Blame::candidate);
  EXPECT_EQ(fault->detail,
            "its process held 64 GiB of the 70 GiB of device memory that were free, and the "
            "reference had no room");
}

TEST(MemoryHogTest, TheMemoryOfACallIsNotAFault) {
  EXPECT_FALSE(hog_fault(70 * gib, 2 * gib, 30 * gib).has_value());
}

TEST(MemoryHogTest, MemoryThatNeighboursTookIsNotAFault) {
  EXPECT_FALSE(hog_fault(70 * gib, 2 * gib, gib).has_value());
}

}  // namespace
}  // namespace warpsmith::sandbox
