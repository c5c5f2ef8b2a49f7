// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/bench_compare.hpp"

#include <gtest/gtest.h>

namespace warpsmith::commands {
namespace {

FigurePairs pairs_with(double factor) {
  FigurePairs pairs;
  for (const double time : {1.0, 1.2, 0.9, 1.1, 1.0, 1.05, 0.95, 1.1}) {
    add_pair(pairs, {{"median_ms", time}}, {{"median_ms", factor * time * (1 + time / 1000)}});
  }
  return pairs;
}

TEST(BenchCompareTest, ReadsTimesAndRatesButNoPeersAndBars) {
  const auto figures = bench_figures(
      R"({"evaluations_per_s": 2.0, "evaluations_per_s_bar": 1.0, "tasks": 3,
          "peer_seconds": 9, "batches": [{"swap_pause_ms": 4, "peer": {"a_ms": 1}}]})",
      "x");
  ASSERT_TRUE(figures) << figures.error().message;
  EXPECT_EQ(*figures, (BenchFigures{{"evaluations_per_s", 0.5}, {"batches.0.swap_pause_ms", 4.0}}));
}

TEST(BenchCompareTest, NamesTheBenchThatPrintedNoFigures) {
  EXPECT_EQ(bench_figures("hello", "old bench learn").error().message,
            "old bench learn: printed no JSON object");
  EXPECT_EQ(bench_figures(R"({"tasks": 3})", "new").error().message, "new: printed no speed");
}

TEST(BenchCompareTest, ASlowerBuildIsSlowerAndAnEqualOneIsNot) {
  const auto slower = changes_of(pairs_with(1.3));
  ASSERT_EQ(slower.size(), 1U);
  EXPECT_NEAR(slower[0].ratio, 1 / 1.3, 0.01);
  EXPECT_EQ(slower[0].judged(0.05), Change::slower);
  EXPECT_EQ(changes_of(pairs_with(1.0))[0].judged(0.05), Change::not_slower);
}

TEST(BenchCompareTest, AnIntervalThatContainsTheLimitIsUndecided) {
  const FigureChange change{"x", 0.96, {0.90, 1.02}, {}, {}};
  EXPECT_EQ(change.judged(0.05), Change::undecided);
}

TEST(BenchCompareTest, ComparesOnlyFiguresOfBothBuilds) {
  FigurePairs pairs;
  add_pair(pairs, {{"a_ms", 1}, {"b_ms", 1}}, {{"b_ms", 2}, {"c_ms", 3}});
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs["b_ms"].after, std::vector<double>{2});
}

}  // namespace
}  // namespace warpsmith::commands
