// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/decision.hpp"

#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

ShapeResult timed_shape() {
  ShapeResult shape;
  shape.candidate_ms = 1.0;
  shape.speedup_eager_interval = Interval{1.2, 1.4};
  shape.speedup_compile_interval = Interval{1.1, 1.3};
  return shape;
}

TEST(SubtractedTimeTest, IntervalsBeginWhereTheyWouldWithNothingSubtracted) {
  StageFacts stage{.on_device = true};
  stage.reveal_ms = 0.5;
  stage.output_copy_ms = 0.5;
  ShapeResult shape = timed_shape();
  weigh_subtracted(stage, shape);
  EXPECT_DOUBLE_EQ(*stage.share, 1.0);
  EXPECT_FALSE(stage.within_share);
  EXPECT_DOUBLE_EQ(shape.speedup_eager_interval->low, 0.6);
  EXPECT_DOUBLE_EQ(shape.speedup_compile_interval->low, 0.55);
  EXPECT_DOUBLE_EQ(shape.speedup_eager_interval->high, 1.4);
}

/// A candidate that rings too early lets its kernels run on during our wake-up and our sample.
TEST(SubtractedTimeTest, AnEmptyCallAndTheSampleLowerIntervalsButNotTrust) {
  StageFacts stage{.on_device = true};
  stage.reveal_ms = 0.01;
  stage.output_copy_ms = 0.01;
  stage.noop_ms = 0.5;
  ShapeResult shape = timed_shape();
  weigh_subtracted(stage, shape);
  EXPECT_DOUBLE_EQ(shape.speedup_eager_interval->low, 0.8);
  EXPECT_DOUBLE_EQ(shape.speedup_compile_interval->high, 1.3);
  EXPECT_DOUBLE_EQ(*stage.share, 0.02);
  EXPECT_TRUE(stage.within_share);
}

TEST(SubtractedTimeTest, OnACpuTheRevealCostsNothing) {
  StageFacts stage;
  stage.reveal_ms = 5;
  stage.noop_ms = 5;
  ShapeResult shape = timed_shape();
  weigh_subtracted(stage, shape);
  EXPECT_TRUE(stage.within_share);
  EXPECT_DOUBLE_EQ(shape.speedup_eager_interval->low, 1.2);
}

TEST(SubtractedTimeTest, UntimedShapesStayAsTheyAre) {
  StageFacts stage;
  ShapeResult shape;
  weigh_subtracted(stage, shape);
  EXPECT_FALSE(stage.share.has_value());
}

}  // namespace
}  // namespace warpsmith::sandbox
