// SPDX-License-Identifier: Apache-2.0
#include "commands/eval/eval_summary.hpp"

#include <gtest/gtest.h>

namespace warpsmith::commands {
namespace {

std::vector<EvalSample> samples() {
  return {{"a", 3, true, 4.0, 2.0}, {"a", -1, false, {}, {}}, {"b", 1, true, 1.0, 0.5}};
}

TEST(EvalSummaryTest, FiguresAreSharesMeansAndGeometricMeans) {
  const EvalSummary summary = summarize_eval(samples(), 1);
  EXPECT_NEAR(summary.all.pass_rate, 2.0 / 3, 1e-12);
  EXPECT_NEAR(summary.all.mean_reward, 1.0, 1e-12);
  EXPECT_NEAR(summary.all.fast_compile, 1.0 / 3, 1e-12);
  EXPECT_NEAR(*summary.all.geomean_eager, 2.0, 1e-12);
  EXPECT_NEAR(*summary.all.geomean_compile, 1.0, 1e-12);
  EXPECT_EQ(summary.by_task.at("a").samples, 2U);
}

TEST(EvalSummaryTest, ReportsPassesByStrictAmongPassesByPaper) {
  EXPECT_FALSE(figures_of(samples()).strict_pass_rate);
  std::vector<EvalSample> some = samples();
  some[0].strict = true;
  some[2].strict = false;
  const EvalFigures figures = figures_of(some);
  EXPECT_NEAR(figures.pass_rate, 2.0 / 3, 1e-12);
  EXPECT_NEAR(*figures.strict_pass_rate, 1.0 / 3, 1e-12);
}

TEST(EvalSummaryTest, FasterSharesDoNotDependOnTheRewardRule) {
  // Rewards are speed-ups here.
  const EvalFigures figures = figures_of({{"a", 1.2, true, 1.2, 1.1}, {"a", 1.0, true, 1.0, 2.5}});
  EXPECT_NEAR(figures.fast_eager, 0.5, 1e-12);
  EXPECT_NEAR(figures.fast_compile, 1.0, 1e-12);
}

TEST(EvalSummaryTest, IntervalContainsTheMeanAndStaysWithinTasks) {
  const EvalSummary summary = summarize_eval(samples(), 1);
  EXPECT_LE(summary.mean_reward_low, summary.all.mean_reward);
  EXPECT_GE(summary.mean_reward_high, summary.all.mean_reward);
  // Task b has one sample of reward 1, so no resample is below (−1 − 1 + 1) / 3.
  EXPECT_GE(summary.mean_reward_low, -1.0 / 3 - 1e-12);
}

TEST(EvalSummaryTest, EqualSeedsGiveEqualIntervals) {
  EXPECT_EQ(summarize_eval(samples(), 7).mean_reward_low,
            summarize_eval(samples(), 7).mean_reward_low);
}

TEST(EvalSummaryTest, WithoutSamplesSpeedUpsAreEmptyNotZero) {
  const EvalSummary summary = summarize_eval({}, 1);
  EXPECT_EQ(summary.all.samples, 0U);
  EXPECT_FALSE(summary.all.geomean_eager.has_value());
}

TEST(EvalSummaryTest, MedianIsTheMiddleValue) {
  EXPECT_FALSE(median_of({}));
  EXPECT_EQ(median_of({9, 1, 2}), 2);
  EXPECT_EQ(median_of({4, 1, 2, 100}), 3);
}

TEST(EvalSummaryTest, DifferenceIsPairedByTask) {
  const ValuesByTask before{{"easy", {3, 3}}, {"hard", {-1, -1}}, {"only before", {3}}};
  const ValuesByTask after{{"easy", {3, 3}}, {"hard", {1, 1}}, {"only after", {3}}};
  const EvalDifference difference = paired_difference(before, after, 1);
  EXPECT_EQ(difference.tasks, 2U);
  EXPECT_NEAR(difference.mean, 1, 1e-12);
  // The interval comes only from which of the two tasks are drawn.
  EXPECT_NEAR(difference.low, 0, 1e-12);
  EXPECT_NEAR(difference.high, 2, 1e-12);
}

TEST(EvalSummaryTest, EqualGainsGiveAPointInterval) {
  const ValuesByTask before{{"a", {1}}, {"b", {-1}}, {"c", {2}}};
  const ValuesByTask after{{"a", {2}}, {"b", {0}}, {"c", {3}}};
  const EvalDifference difference = paired_difference(before, after, 1);
  EXPECT_NEAR(difference.low, 1, 1e-12);
  EXPECT_NEAR(difference.high, 1, 1e-12);
}

TEST(EvalSummaryTest, WithoutCommonTasksThereIsNoDifference) {
  EXPECT_EQ(paired_difference({{"a", {1}}}, {{"b", {1}}}, 1).tasks, 0U);
}

}  // namespace
}  // namespace warpsmith::commands
