// SPDX-License-Identifier: Apache-2.0
// The bars of agreement, and the binding of the timed kernels to their task.
#include "sandbox/bench/timing_agreement.hpp"

#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

AgreementRow row_of(double events_us, double graph_us, double commit_us) {
  return {.kernel = "copy",
          .target_us = events_us,
          .events_us = events_us,
          .graph_us = graph_us,
          .commit_us = commit_us};
}

TEST(TimingAgreementTest, NoBarAppliesToShortKernels) {
  const AgreementRow shortest = row_of(19, 30, 60);
  EXPECT_FALSE(shortest.graph_bar());
  EXPECT_TRUE(shortest.graph_agrees());
  const AgreementRow medium = row_of(20, 30, 60);
  EXPECT_TRUE(medium.graph_bar());
  EXPECT_FALSE(medium.graph_agrees());
  EXPECT_FALSE(medium.commit_bar());
  EXPECT_TRUE(medium.commit_agrees());
}

TEST(TimingAgreementTest, ThreePercentAreAllowedEitherWay) {
  EXPECT_TRUE(row_of(100, 102.9, 97.1).graph_agrees());
  EXPECT_TRUE(row_of(100, 102.9, 97.1).commit_agrees());
  EXPECT_FALSE(row_of(100, 103.1, 96.9).graph_agrees());
  EXPECT_FALSE(row_of(100, 103.1, 96.9).commit_agrees());
  EXPECT_FALSE(row_of(100, 100, 103.1).commit_agrees());
  EXPECT_DOUBLE_EQ(row_of(0, 1, 1).graph_ratio(), 0);
}

TEST(TimingAgreementTest, AmountsScaleWithTheTimeAboveTheFixedPart) {
  EXPECT_EQ(scaled_amount(1000, 102, 202, 2), 2000);
  EXPECT_EQ(scaled_amount(1000, 102, 12, 2), 100);
  EXPECT_EQ(scaled_amount(1, 1000, 3, 2), 1);
  EXPECT_EQ(scaled_amount(1000, 1.5, 12, 2), 100'000) << "a time below the fixed part counts 0.1";
}

TEST(TimingKernelsTest, PlansBindToTheirTask) {
  for (const std::string& name : timing_kernel_names()) {
    const auto plan = device_plan(timing_kernel(name, 123'456));
    ASSERT_TRUE(plan) << plan.error().text;
    const auto bound = bind_plan(*plan, timing_signature(), {});
    ASSERT_TRUE(bound) << bound.error().message;
    ASSERT_EQ(bound->steps.size(), 1U);
    const auto& launch = std::get<BoundLaunch>(bound->steps[0].what);
    EXPECT_EQ(std::get<BoundScalar>(launch.args.at(3)).whole, 123'456);
    EXPECT_EQ(std::get<BoundScalar>(launch.args.at(2)).whole, timing_signature().dims[0]);
  }
}

}  // namespace
}  // namespace warpsmith::sandbox
