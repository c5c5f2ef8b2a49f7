// SPDX-License-Identifier: Apache-2.0
#include "runtime/median.hpp"
#include "sandbox/timing/speedup.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace warpsmith::sandbox {
namespace {

TEST(BootstrapTest, TakesTheMedian) {
  EXPECT_EQ(median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(median(std::vector<double>{4, 1, 3, 2}), 2.5);
}

TEST(BootstrapTest, ReturnsAPointIfNothingVaries) {
  RandomStream random(1, "test");
  const std::vector<double> baseline(8, 2.0), candidate(8, 1.0);
  const Speedup speedup = paired_speedup(baseline, candidate, random);
  EXPECT_EQ(speedup.ratio, 2);
  EXPECT_EQ(speedup.interval.low, 2);
  EXPECT_EQ(speedup.interval.high, 2);
}

TEST(BootstrapTest, CancelsASharedDrift) {
  RandomStream random(1, "test");
  std::vector<double> baseline, candidate;
  for (int i = 1; i <= 16; ++i) baseline.push_back(3.0 * i), candidate.push_back(1.5 * i);
  const Speedup speedup = paired_speedup(baseline, candidate, random);
  EXPECT_NEAR(speedup.interval.low, 2, 1e-12);
  EXPECT_NEAR(speedup.interval.high, 2, 1e-12);
}

/// One slow call that works ahead for the others must not vanish in the median.
TEST(BootstrapTest, UsesTheTotalIfItIsWorse) {
  RandomStream random(1, "test");
  const std::vector<double> baseline(10, 1.0);
  std::vector<double> candidate(10, 0.1);
  candidate[0] = 9.1;
  EXPECT_NEAR(paired_speedup(baseline, candidate, random).ratio, 1.0, 1e-12);
}

/// The share of 300 intervals from `blocks` noisy blocks that contain the true ratio 2.
double coverage(int blocks) {
  RandomStream noise(3, "noise"), random(4, "test");
  int covered = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> baseline, candidate;
    for (int i = 0; i < blocks; ++i) {
      baseline.push_back(2 + 0.2 * (noise.uniform() - 0.5));
      candidate.push_back(1 + 0.1 * (noise.uniform() - 0.5));
    }
    const Interval interval = paired_speedup(baseline, candidate, random, 400).interval;
    covered += interval.low <= 2 && 2 <= interval.high ? 1 : 0;
  }
  return covered / 300.0;
}

TEST(BootstrapTest, CoversTheTrueRatioInNineteenOfTwenty) {
  EXPECT_GE(coverage(12), 0.93);  // the lower of two figures is biased low
  EXPECT_GE(coverage(36), 0.93);
}

TEST(BootstrapTest, WideningAddsWhatBlocksCannotShow) {
  const Speedup sharp{2, {2, 2}}, vague{2, {1, 4}};
  const Interval wide = widened(sharp, 0.05);
  EXPECT_NEAR(wide.low, 2 * std::exp(-0.098), 1e-3);
  EXPECT_NEAR(wide.high, 2 * std::exp(0.098), 1e-3);
  EXPECT_NEAR(widened(vague, 0.05).low, 1, 0.01);  // independent errors: squares add
  EXPECT_EQ(widened(sharp, 0).low, 2);
}

}  // namespace
}  // namespace warpsmith::sandbox
