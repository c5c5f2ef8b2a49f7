// SPDX-License-Identifier: Apache-2.0
#include "runtime/policy_version.hpp"

#include <gtest/gtest.h>

namespace warpsmith {
namespace {

TEST(PolicyVersionTest, LagWithinAnIncarnationIsTheDistanceInSteps) {
  EXPECT_EQ(lag_between({1, 7}, {1, 7}, {{1, 0}}), 0U);
  EXPECT_EQ(lag_between({1, 5}, {1, 8}, {{1, 0}}), 3U);
}

TEST(PolicyVersionTest, LagOfAnAncestorIsTheDistanceInSteps) {
  EXPECT_EQ(lag_between({1, 6}, {2, 9}, {{1, 0}, {2, 8}}), 3U);
  EXPECT_EQ(lag_between({1, 8}, {2, 8}, {{1, 0}, {2, 8}}), 0U);
}

TEST(PolicyVersionTest, LagOfARolledBackVersionCountsTheStepsOnBothSides) {
  const RestoredSteps restored{{1, 0}, {2, 8}};
  EXPECT_EQ(lag_between({1, 10}, {2, 8}, restored), 2U);
  EXPECT_EQ(lag_between({1, 10}, {2, 9}, restored), 3U);
  EXPECT_EQ(lag_between({1, 10}, {2, 12}, restored), 6U);
}

TEST(PolicyVersionTest, TheEarliestStepOfSeveralRollbacksCounts) {
  EXPECT_EQ(lag_between({1, 10}, {3, 6}, {{1, 0}, {2, 8}, {3, 5}}), 6U);
  EXPECT_EQ(lag_between({1, 10}, {3, 10}, {{1, 0}, {2, 5}, {3, 9}}), 10U);
  EXPECT_EQ(lag_between({2, 9}, {3, 10}, {{1, 0}, {2, 5}, {3, 9}}), 1U);
}

}  // namespace
}  // namespace warpsmith
