// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/speedup.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "runtime/random_stream.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr int evaluations = 400;

/// Evaluations of two tasks whose times vary by `scatter`.
Reproducibility seen(double scatter) {
  Reproducibility between;
  RandomStream random(5, "machine");
  for (int i = 0; i < evaluations; ++i) {
    const double moved = std::exp(scatter * std::sqrt(12.0) * (random.uniform() - 0.5));
    const double time = (i % 2 == 0 ? 2.0 : 0.5) * moved;
    between.add(i % 2 == 0 ? "one" : "other", time);
  }
  return between;
}

TEST(ReproducibilityTest, StartsFromTheScatterOfIdleMachines) {
  Reproducibility between;
  EXPECT_DOUBLE_EQ(between.scatter(), Reproducibility::expected);
  between.add("task", 2);
  EXPECT_DOUBLE_EQ(between.scatter(), Reproducibility::expected);  // nothing to compare with yet
}

TEST(ReproducibilityTest, LearnsTheScatterOfTheMachine) {
  EXPECT_NEAR(seen(0.10).scatter(), 0.10, 0.025);
  EXPECT_LT(seen(0).scatter(), 0.02);
}

TEST(ReproducibilityTest, ComparesATaskOnlyWithItself) {
  Reproducibility between;
  for (int task = 0; task < 50; ++task) {
    between.add(std::to_string(task), 1.0 + task);
  }
  EXPECT_DOUBLE_EQ(between.scatter(), Reproducibility::expected);
}

TEST(ReproducibilityTest, OneDisturbanceHasLittleEffect) {
  Reproducibility between;
  for (int i = 0; i < 100; ++i) between.add("task", i == 99 ? 100.0 : 1.0);
  EXPECT_LT(between.scatter(), 0.05);
}

TEST(ReproducibilityTest, ForgetsABusyHour) {
  Reproducibility between;
  for (int i = 0; i < 500; ++i) {
    between.add("task", i < 200 && i % 2 == 0 ? 2.0 : 1.0);
  }
  EXPECT_LT(between.scatter(), 0.02);
}

}  // namespace
}  // namespace warpsmith::sandbox
