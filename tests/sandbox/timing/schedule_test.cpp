// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace warpsmith::sandbox {
namespace {

TEST(ScheduleTest, TimesEveryPartyOncePerBlock) {
  RandomStream random(7, "schedule");
  for (const Block& block : make_schedule(20, random)) {
    EXPECT_EQ(std::set<Party>(block.begin(), block.end()).size(), party_count);
  }
}

TEST(ScheduleTest, FollowsEachOrderWithItsMirrorImage) {
  RandomStream random(7, "schedule");
  const auto schedule = make_schedule(10, random);
  for (size_t i = 0; i + 1 < schedule.size(); i += 2) {
    Block mirrored = schedule[i + 1];
    std::reverse(mirrored.begin(), mirrored.end());
    EXPECT_EQ(schedule[i], mirrored);
  }
}

TEST(ScheduleTest, UsesEveryOrderEquallyOften) {
  RandomStream random(7, "schedule");
  std::map<Block, int> times;
  for (const Block& block : make_schedule(24, random)) ++times[block];
  EXPECT_EQ(times.size(), 6U);
  for (const auto& [block, count] : times) EXPECT_EQ(count, 4);
}

TEST(ScheduleTest, CannotBeForetold) {
  RandomStream one(7, "schedule"), other(8, "schedule");
  EXPECT_NE(make_schedule(24, one), make_schedule(24, other));
}

TEST(ScheduleTest, FixesTheCountByTheBaselineAlone) {
  EXPECT_EQ(block_count(100, 12, 8), 12);
  EXPECT_EQ(block_count(1, 12, 8), 12);
  EXPECT_EQ(block_count(0.75, 12, 8), 18);
  EXPECT_EQ(block_count(0.01, 12, 8), 36);
  EXPECT_EQ(block_count(0, 12, 8), 36);
}

}  // namespace
}  // namespace warpsmith::sandbox
