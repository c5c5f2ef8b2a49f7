// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sandbox/judge/evaluation_session.hpp"

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

}  // namespace
}  // namespace warpsmith::sandbox
