// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/placement.hpp"

#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace warpsmith::policy {
namespace {

TEST(PlacementTest, ACpuIsAlwaysAvailableAndComputesWithTheWeightsThemselves) {
  const LearnerConfig config;
  EXPECT_TRUE(check_placement(config));
  EXPECT_TRUE(placement_of(config).device.is_cpu());
  EXPECT_FALSE(placement_of(config).compute.type);
  EXPECT_FALSE(placement_of(config).compute.recompute);
}

TEST(PlacementTest, AMissingGpuIsAnErrorThatNamesTheKey) {
  LearnerConfig config;
  config.device = ComputeDevice::cuda;
  config.gpu = 63;
  const auto there = check_placement(config);
  ASSERT_FALSE(there);
  EXPECT_EQ(there.error().code, ErrorCode::unsupported);
  EXPECT_NE(there.error().message.find("learner."), std::string::npos) << there.error().message;
}

TEST(PlacementTest, RanksUseConsecutiveGpusAndShareACpu) {
  LearnerConfig config;
  config.gpus = 3;
  EXPECT_EQ(devices_of(config), std::vector<at::Device>(3, at::Device(at::kCPU)));
  EXPECT_TRUE(check_placement(config));
  config.device = ComputeDevice::cuda;
  config.gpu = 1;
  EXPECT_EQ(devices_of(config)[2], at::Device(at::kCUDA, 3));
}

TEST(PlacementTest, MoreRanksThanGpusAreRefused) {
  LearnerConfig config;
  config.device = ComputeDevice::cuda;
  config.gpus = 64;
  const auto there = check_placement(config);
  ASSERT_FALSE(there);
  if (!at::hasCUDA()) return;  // refused for another reason
  EXPECT_NE(there.error().message.find("learner.gpus: expected at most"), std::string::npos)
      << there.error().message;
}

TEST(PlacementTest, PrecisionDecidesTheCopyOnAGpu) {
  LearnerConfig config;
  config.device = ComputeDevice::cuda;
  config.gpu = 1;
  EXPECT_EQ(placement_of(config).device, at::Device(at::kCUDA, 1));
  EXPECT_EQ(placement_of(config).compute.type, at::kBFloat16);
  config.precision = ComputePrecision::fp32;
  EXPECT_FALSE(placement_of(config).compute.type);
  EXPECT_TRUE(placement_of(config).compute.recompute);
}

}  // namespace
}  // namespace warpsmith::policy
