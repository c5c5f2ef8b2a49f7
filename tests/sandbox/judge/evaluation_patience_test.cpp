// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>

#include "sandbox/judge/evaluation_stay.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;

TEST(LaterPatienceTest, FollowsTheTasksEagerAndTheSlowestCallOfTheCandidate) {
  const TaskFacts quick{.eager_ms = 0.1}, heavy{.eager_ms = 200};
  EXPECT_EQ(later_patience(quick, false, milliseconds{1}), call_patience(quick));
  EXPECT_EQ(later_patience(heavy, false, milliseconds{1}), call_patience(heavy));
  EXPECT_EQ(later_patience(quick, false, milliseconds{3'000}), milliseconds{12'000});
}

TEST(LaterPatienceTest, LeavesTimeForATrapToBeReportedOnADevice) {
  EXPECT_EQ(later_patience({.eager_ms = 0.1}, true, milliseconds{1}), milliseconds{5'000});
}

TEST(OwnTimeTest, CausedATimeoutThatPassedMostlyInIt) {
  OwnTime own(Deadline::after(milliseconds{0}), milliseconds{0});
  EXPECT_FALSE(own.caused_timeout());
  own.add(milliseconds{1});
  EXPECT_TRUE(own.caused_timeout());
}

TEST(OwnTimeTest, CausedNoTimeoutBeforeTheDeadlineOrByOthers) {
  OwnTime plenty(Deadline::after(std::chrono::hours{1}), milliseconds{0});
  plenty.add(std::chrono::minutes{59});
  EXPECT_FALSE(plenty.caused_timeout());
  OwnTime little(Deadline::after(milliseconds{20}), milliseconds{0});
  little.add(milliseconds{5});
  std::this_thread::sleep_for(milliseconds{25});
  EXPECT_FALSE(little.caused_timeout());
  little.add(milliseconds{6});
  EXPECT_TRUE(little.caused_timeout());
}

TEST(OwnTimeTest, CausedNoTimeoutWithinTheLeastTime) {
  OwnTime own(Deadline::after(milliseconds{0}), milliseconds{5});
  own.add(milliseconds{5});
  EXPECT_FALSE(own.caused_timeout());
  own.add(milliseconds{1});
  EXPECT_TRUE(own.caused_timeout());
}

}  // namespace
}  // namespace warpsmith::sandbox
