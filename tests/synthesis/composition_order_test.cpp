// SPDX-License-Identifier: Apache-2.0
#include "synthesis/composition_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/random_stream.hpp"

namespace warpsmith::synthesis {
namespace {

/// Candidate n repeats the task of n − 3 if n is divisible by 5, and is rejected if it is odd.
Composition composed(uint64_t index) {
  const uint64_t like = index % 5 == 0 && index >= 3 ? index - 3 : index;
  const std::string name = "t" + std::to_string(like);
  if (like % 2 == 1) return {.index = index, .reason = "too_fast"};
  return {.index = index, .id = name, .code = "pass", .hash = name};
}

std::vector<std::string> committed_by(CompositionOrder& order, size_t composers, uint64_t seed) {
  RandomStream stream(seed, "order");
  std::vector<uint64_t> under_way;
  std::vector<std::string> found;
  while (!order.done()) {
    while (under_way.size() < composers) {
      const auto index = order.next();
      if (!index) break;
      under_way.push_back(*index);
    }
    const size_t at = stream.below(under_way.size());
    const uint64_t index = under_way[at];
    under_way.erase(under_way.begin() + static_cast<int64_t>(at));
    if (stream.below(8) == 0) {
      order.give_back(index);
    } else {
      order.arrived(composed(index));
    }
    while (const auto one = order.commit()) {
      found.push_back(one->accepted() ? one->id : one->reason);
    }
  }
  return found;
}

TEST(CompositionOrderTest, TasksDependNeitherOnTheComposersNorOnTheirOrder) {
  CompositionOrder alone(60, 8);
  const auto expected = committed_by(alone, 1, 1);
  ASSERT_EQ(expected.size(), 60U);
  EXPECT_EQ(std::ranges::count(expected, "duplicate"), 6);
  EXPECT_EQ(std::ranges::count(expected, "t2"), 1);
  for (const uint64_t seed : {2U, 3U, 4U}) {
    CompositionOrder together(60, 24);
    EXPECT_EQ(committed_by(together, 5, seed), expected);
    EXPECT_EQ(together.accepted(), alone.accepted());
  }
}

TEST(CompositionOrderTest, ContinuesAfterTheCommittedNumbers) {
  CompositionOrder whole(40, 8);
  const auto expected = committed_by(whole, 1, 1);
  CompositionOrder first(17, 8);
  std::vector<Composition> earlier;
  while (const auto index = first.next()) {
    first.arrived(composed(*index));
    earlier.push_back(*first.commit());
  }
  CompositionOrder rest(40, 8, earlier);
  EXPECT_EQ(rest.committed(), 17U);
  const auto found = committed_by(rest, 3, 5);
  EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.begin() + 17, expected.end()));
  EXPECT_EQ(rest.accepted(), whole.accepted());
}

TEST(CompositionOrderTest, OnlyAFewCandidatesMayWaitForAnEarlierOne) {
  CompositionOrder order(100, 4);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(order.next(), i);
  EXPECT_EQ(order.next(), std::nullopt);
  order.arrived(composed(1));
  EXPECT_EQ(order.commit(), std::nullopt) << "number 0 is missing";
  order.give_back(0);
  EXPECT_EQ(order.next(), 0U) << "a number that was given back is first";
  order.arrived(composed(0));
  EXPECT_EQ(order.commit()->index, 0U);
  EXPECT_EQ(order.commit()->index, 1U);
  EXPECT_EQ(order.next(), 4U);
}

}  // namespace
}  // namespace warpsmith::synthesis
