// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/reproducibility.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "runtime/random_stream.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr int evaluations = 400;

/// Evaluations of two tasks whose ratios move by `scatter` between them and not within.
Reproducibility seen(double scatter) {
  Reproducibility between;
  RandomStream random(5, "machine");
  for (int i = 0; i < evaluations; ++i) {
    const double moved = std::exp(scatter * std::sqrt(12.0) * (random.uniform() - 0.5));
    const double ratio = (i % 2 == 0 ? 2.0 : 0.5) * moved;
    between.add(i % 2 == 0 ? "one" : "other", std::vector<double>(8, ratio),
                std::vector<double>(8, 1.0));
  }
  return between;
}

TEST(ReproducibilityTest, ExpectsWhatIdleMachinesShow) {
  Reproducibility between;
  EXPECT_DOUBLE_EQ(between.scatter(), Reproducibility::expected);
  between.add("task", std::vector<double>{2}, std::vector<double>{1});
  EXPECT_DOUBLE_EQ(between.scatter(), Reproducibility::expected);  // nothing to compare with yet
}

TEST(ReproducibilityTest, LearnsHowFarTheMachineMovesRatios) {
  EXPECT_NEAR(seen(0.10).scatter(), 0.10, 0.025);
  EXPECT_LT(seen(0).scatter(), 0.015);
}

TEST(ReproducibilityTest, TasksAreComparedWithThemselvesAlone) {
  Reproducibility between;
  for (int task = 0; task < 50; ++task) {
    between.add(std::to_string(task), std::vector<double>{1.0 + task}, std::vector<double>{1});
  }
  EXPECT_DOUBLE_EQ(between.scatter(), Reproducibility::expected);
}

TEST(ReproducibilityTest, ForgetsABusyHour) {
  Reproducibility between;
  for (int i = 0; i < 500; ++i) {
    const double ratio = i < 200 && i % 2 == 0 ? 2.0 : 1.0;
    between.add("task", std::vector<double>{ratio}, std::vector<double>{1});
  }
  EXPECT_LT(between.scatter(), 0.02);
}

}  // namespace
}  // namespace warpsmith::sandbox
