// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/baselines.hpp"

#include <gtest/gtest.h>

namespace warpsmith::policy {
namespace {

TEST(PromptBaselineTest, UnknownPromptGetsTheOverallMean) {
  PromptBaseline baseline;
  EXPECT_EQ(baseline.of(1), 0.0);
  baseline.add(1, 2.0);
  baseline.add(2, 4.0);
  EXPECT_DOUBLE_EQ(baseline.of(3), 3.0);
}

TEST(PromptBaselineTest, ConvergesToEachPromptsOwnMean) {
  PromptBaseline baseline;
  for (int i = 0; i < 200; ++i) {
    baseline.add(1, 3.0);
    baseline.add(2, -1.0);
  }
  EXPECT_NEAR(baseline.of(1), 3.0, 0.25);  // prior of 2 trajectories against 20
  EXPECT_NEAR(baseline.of(2), -1.0, 0.25);
}

TEST(PromptBaselineTest, RestoredEntriesContinueIdentically) {
  PromptBaseline a;
  for (int i = 0; i < 30; ++i) a.add(static_cast<uint64_t>(i % 3), i * 0.5);
  PromptBaseline b;
  b.restore(a.entries());
  EXPECT_NEAR(a.of(0), b.of(0), 1e-12);
  EXPECT_NEAR(a.of(99), b.of(99), 1e-12);
}

TEST(RunningScaleTest, FirstStepIsUnscaledAndLaterOnesFollow) {
  RunningScale scale;
  EXPECT_EQ(scale.divisor(), 1.0);
  scale.add_step(4.0);
  EXPECT_DOUBLE_EQ(scale.divisor(), 2.0);
  scale.add_step(0.0);  // no effect: a step without advantages
  EXPECT_DOUBLE_EQ(scale.divisor(), 2.0);
}

}  // namespace
}  // namespace warpsmith::policy
