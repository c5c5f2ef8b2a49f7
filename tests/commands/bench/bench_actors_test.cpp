// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/bench_actors.hpp"

#include <gtest/gtest.h>

namespace warpsmith::commands {
namespace {

TEST(ActorLatencyTest, FiguresAreTheMedianAndThe95thPercentile) {
  std::vector<double> samples;
  for (int i = 101; i > 0; --i) samples.push_back(i);
  const auto figures = figures_of(samples);
  EXPECT_EQ(figures.median_us, 51);
  EXPECT_EQ(figures.p95_us, 96);
}

TEST(ActorLatencyTest, MeasuresEveryPath) {
  const auto latency = measure_actor_latency(50);
  EXPECT_GT(latency.request.median_us, 0);
  EXPECT_GT(latency.segment_1mib.median_us, 0);
  EXPECT_GT(latency.thread_handoff.median_us, 0);
  RecordProperty("request_us", std::to_string(latency.request.median_us));
  RecordProperty("segment_us", std::to_string(latency.segment_1mib.median_us));
}

}  // namespace
}  // namespace warpsmith::commands
