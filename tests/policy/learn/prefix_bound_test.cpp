// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/prefix_bound.hpp"

#include <gmock/gmock.h>

#include <set>

#include "runtime/random_stream.hpp"

namespace warpsmith::policy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(PrefixBoundTest, NoneLeavesWhileThereIsRoom) {
  EXPECT_THAT(prefixes_to_give_up({{1, 10, 60}, {2, 20, 40}}, 100, 2), IsEmpty());
  EXPECT_THAT(prefixes_to_give_up({}, 0), IsEmpty());
}

TEST(PrefixBoundTest, TheShortestLeaveFirstNotTheNewest) {
  EXPECT_THAT(prefixes_to_give_up({{1, 30, 30}, {2, 10, 10}, {3, 20, 20}}, 35, 1),
              ElementsAre(2, 3));
  EXPECT_THAT(prefixes_to_give_up({{1, 30, 30}, {2, 10, 10}, {3, 20, 20}}, 50, 3), ElementsAre(2));
}

TEST(PrefixBoundTest, NoneLeavesWhoseMemoryIsNotNeeded) {
  // The short one is not enough; with the long one gone, it may stay.
  EXPECT_THAT(prefixes_to_give_up({{1, 10, 10}, {2, 80, 80}, {3, 5, 60}}, 75, 3), ElementsAre(2));
}

TEST(PrefixBoundTest, OneAtHandLeavesOnlyIfItIsTooLargeItself) {
  EXPECT_THAT(prefixes_to_give_up({{1, 5, 5}, {2, 90, 90}}, 90), ElementsAre(1));
  EXPECT_THAT(prefixes_to_give_up({{1, 5, 5}, {2, 90, 90}}, 90, 1), ElementsAre(2));
  EXPECT_THAT(prefixes_to_give_up({{1, 5, 5}, {2, 90, 90}}, 80, 2), ElementsAre(2));
}

TEST(PrefixBoundTest, WhatStaysFitsAndNothingLeavesInVain) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    RandomStream random{seed, "prefix_bound"};
    std::vector<PrefixSize> kept;
    for (TrajectoryId id = 1; id <= 1 + random.below(6); ++id) {
      kept.push_back(
          {id, static_cast<int64_t>(random.below(50)), static_cast<int64_t>(random.below(50))});
    }
    const auto bound = static_cast<int64_t>(random.below(120));
    const auto ids = prefixes_to_give_up(kept, bound, 1);
    const std::set<TrajectoryId> left(ids.begin(), ids.end());
    int64_t stays = 0;
    for (const PrefixSize& one : kept) stays += left.contains(one.id) ? 0 : one.bytes;
    ASSERT_LE(stays, bound) << seed;
    for (const PrefixSize& one : kept) {
      ASSERT_TRUE(!left.contains(one.id) || stays + one.bytes > bound) << seed;
    }
    ASSERT_TRUE(!left.contains(1) || kept[0].bytes > bound) << seed;
  }
}

}  // namespace
}  // namespace warpsmith::policy
