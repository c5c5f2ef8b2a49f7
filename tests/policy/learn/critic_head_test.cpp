// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/critic_head.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::policy {
namespace {

using testing::ElementsAre;

/// A prompt token, two sampled ones, a reply and three more sampled ones.
HeldTrajectory held() {
  const Segment segment{1,
                        0,
                        {9, 1, 2, 9, 3, 4, 5},
                        {0, 1, 1, 0, 1, 1, 1},
                        {0, -0.5F, -2.5F, 0, -1, -30, 0},
                        std::vector<PolicyVersion>(7)};
  HeldTrajectory all;
  EXPECT_TRUE(all.append(segment));
  return all;
}

TEST(SurpriseTest, EqualsTheSurpriseOfTheLeastLikelyEarlierToken) {
  EXPECT_THAT(surprises(held()), ElementsAre(0, 0.5F, 2.5F, 2.5F, 8))
      << "never of the token itself, and 8 nats at most";
}

TEST(SurpriseTest, CountsEarlierTokensForLaterPositions) {
  EXPECT_THAT(surprises(held(), 4), ElementsAre(2.5F, 2.5F, 8));
}

TEST(SurpriseTest, RowsContainTheExcessOverEachBound) {
  const at::Tensor rows = surprise_rows({0, 2.5F, 8});
  const std::vector<float> flat(rows.const_data_ptr<float>(), rows.const_data_ptr<float>() + 15);
  EXPECT_THAT(flat, ElementsAre(0, 0, 0, 0, 0, 2.5F, 1.5F, 0.5F, 0, 0, 8, 7, 6, 5, 4));
}

}  // namespace
}  // namespace warpsmith::policy
