// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::actors {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

ProgressView view(uint64_t admitted, seconds elapsed) {
  ProgressView view;
  view.counts.admitted = admitted;
  view.counts.in_flight = 10;
  view.trajectories = 100;
  view.elapsed = elapsed;
  return view;
}

TEST(ProgressLineTest, SaysThatTasksAreMeasuredBeforeTheFirstTrajectory) {
  ProgressView before = view(0, seconds{5});
  before.numbers = {{"synthesis-0.accepted", 7}, {"synthesis-0.queued", 17}};
  const std::string line = ProgressLine{}.next(before);
  EXPECT_THAT(line, HasSubstr("7 accepted"));
  EXPECT_THAT(line, HasSubstr("17 to come"));
}

TEST(ProgressLineTest, RatesAreThoseSinceTheLastLine) {
  ProgressLine line;
  ProgressView first = view(20, seconds{10});
  first.numbers["generator-0.sampled_tokens"] = 1000;
  (void)line.next(first);
  ProgressView second = view(30, seconds{20});
  second.numbers["generator-0.sampled_tokens"] = 6000;
  EXPECT_THAT(line.next(second), HasSubstr("500 tok/s"));
}

TEST(ProgressLineTest, TimeLeftIsTheSoonerOfTrajectoriesAndLimit) {
  ProgressView now = view(60, seconds{50});  // 50 ended in 50 s, 50 to go
  EXPECT_THAT(ProgressLine{}.next(now), HasSubstr("50s left"));
  now.limit = seconds{70};
  EXPECT_THAT(ProgressLine{}.next(now), HasSubstr("20s left"));
}

TEST(ProgressLineTest, DurationsReadLikeClocks) {
  EXPECT_EQ(duration_text(seconds{12}), "12s");
  EXPECT_EQ(duration_text(seconds{190}), "3m10s");
  EXPECT_EQ(duration_text(seconds{3720}), "1h02m");
}

}  // namespace
}  // namespace warpsmith::actors
