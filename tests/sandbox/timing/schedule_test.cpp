// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/schedule.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/support/rapidcheck_seed.hpp"

namespace warpsmith::sandbox {
namespace {

std::vector<Implementation> implementations(size_t count) {
  const std::vector<Implementation> all{Implementation::candidate, Implementation::eager,
                                        Implementation::compiled, Implementation::tuned,
                                        Implementation::graphed};
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)};
}

/// Whole cycles, with the expected number of each pattern in them.
struct Drawn {
  std::vector<Block> schedule;
  size_t count = 0;
};

Drawn drawn() {
  const auto count = *rc::gen::inRange<size_t>(3, 6);
  const int blocks = cycle_of(count) * *rc::gen::inRange(1, 5);
  RandomStream random(*rc::gen::arbitrary<uint64_t>(), "schedule");
  return {make_schedule(implementations(count), blocks, random), count};
}

RC_GTEST_PROP(ScheduleProperty, TimesEachImplementationOncePerBlock, ()) {
  const Drawn d = drawn();
  for (const Block& block : d.schedule) {
    RC_ASSERT(std::set<Implementation>(block.begin(), block.end()).size() == d.count);
  }
}

RC_GTEST_PROP(ScheduleProperty, FollowsEachOrderWithItsMirrorImage, ()) {
  const Drawn d = drawn();
  for (size_t i = 0; i + 1 < d.schedule.size(); i += 2) {
    Block mirrored = d.schedule[i + 1];
    std::reverse(mirrored.begin(), mirrored.end());
    RC_ASSERT(d.schedule[i] == mirrored);
  }
}

RC_GTEST_PROP(ScheduleProperty, GivesEachImplementationEachPlaceEquallyOften, ()) {
  const Drawn d = drawn();
  std::map<std::pair<Implementation, size_t>, size_t> times;
  for (const Block& block : d.schedule) {
    for (size_t place = 0; place < block.size(); ++place) ++times[{block[place], place}];
  }
  RC_ASSERT(times.size() == d.count * d.count);
  for (const auto& [what, seen] : times) RC_ASSERT(seen == d.schedule.size() / d.count);
}

RC_GTEST_PROP(ScheduleProperty, PutsEachImplementationAfterEachOtherEquallyOften, ()) {
  const Drawn d = drawn();
  std::map<std::pair<Implementation, Implementation>, size_t> times;
  for (const Block& block : d.schedule) {
    for (size_t place = 1; place < block.size(); ++place) ++times[{block[place - 1], block[place]}];
  }
  RC_ASSERT(times.size() == d.count * (d.count - 1));
  for (const auto& [what, seen] : times) RC_ASSERT(seen == d.schedule.size() / d.count);
}

TEST(ScheduleTest, UsesAllSixOrdersOfThreeImplementations) {
  RandomStream random(7, "schedule");
  std::map<Block, int> times;
  for (const Block& block : make_schedule(implementations(3), 24, random)) ++times[block];
  EXPECT_EQ(times.size(), 6U);
  for (const auto& [block, count] : times) EXPECT_EQ(count, 4);
}

TEST(ScheduleTest, IsUnpredictable) {
  for (const size_t count : {3U, 4U, 5U}) {
    RandomStream one(7, "schedule"), other(8, "schedule");
    EXPECT_NE(make_schedule(implementations(count), 24, one),
              make_schedule(implementations(count), 24, other));
  }
}

TEST(ScheduleTest, TheCountDependsOnlyOnTheBaseline) {
  EXPECT_EQ(block_count(100, 12, 8, 32, 6), 12);
  EXPECT_EQ(block_count(1, 12, 8, 32, 6), 12);
  EXPECT_EQ(block_count(0.75, 12, 8, 32, 6), 18);
  EXPECT_EQ(block_count(0.01, 12, 8, 32, 6), 36);
  EXPECT_EQ(block_count(0, 12, 8, 32, 6), 36);
}

TEST(ScheduleTest, TheCountIsAMultipleOfTheCycle) {
  EXPECT_EQ(cycle_of(3), 6);
  EXPECT_EQ(cycle_of(4), 4);
  EXPECT_EQ(cycle_of(5), 10);
  EXPECT_EQ(block_count(100, 12, 8, 32, cycle_of(4)), 8);
  EXPECT_EQ(block_count(100, 12, 8, 32, cycle_of(5)), 10);
  EXPECT_EQ(block_count(0, 12, 8, 32, cycle_of(5)), 40);
  EXPECT_EQ(block_count(0, 12, 8, 16, cycle_of(5)), 20);
}

}  // namespace
}  // namespace warpsmith::sandbox
