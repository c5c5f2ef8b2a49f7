// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/machine.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr MachineLimits rates{
    .cache_gbytes_per_s = 100, .memory_gbytes_per_s = 10, .gflops_per_s = 50};

TEST(RooflineTest, TheFloorWritesOutputsIntoTheCacheWithSlack) {
  EXPECT_DOUBLE_EQ(floor_ms(2e6, rates), 0.01);
  EXPECT_EQ(floor_ms(2e6, {}), 0);
}

TEST(RooflineTest, IsTheLongerOfMovingAllBytesAndComputing) {
  EXPECT_DOUBLE_EQ(roofline_ms(2e6, 0, rates), 0.2);
  EXPECT_DOUBLE_EQ(roofline_ms(2e6, 5e6, rates), 0.2);
  EXPECT_DOUBLE_EQ(roofline_ms(2e6, 5e7, rates), 1);
  EXPECT_EQ(roofline_ms(2e6, 5e7, {}), 0);
}

TEST(MachineTest, KeepsItsMeasurementsAndRepairsDamage) {
  const test_support::TemporaryFolder own;
  const std::string folder = own.path().string();
  const Machine first = known_machine(folder);
  EXPECT_GT(first.limits.cache_gbytes_per_s, first.limits.memory_gbytes_per_s / 2);
  EXPECT_LT(first.limits.cache_gbytes_per_s, 5000) << "a loop was optimised away";
  EXPECT_GT(first.limits.gflops_per_s, 1);
  EXPECT_EQ(known_machine(folder).limits.gflops_per_s, first.limits.gflops_per_s);
  std::ofstream(folder + "/machine-" + first.key() + ".json") << "{ damaged";
  EXPECT_GT(known_machine(folder).limits.gflops_per_s, 1);
}

}  // namespace
}  // namespace warpsmith::sandbox
