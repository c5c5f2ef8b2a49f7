// SPDX-License-Identifier: Apache-2.0
#include "actors/brain/budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::actors {
namespace {

using testing::HasSubstr;

TEST(BrainBudgetTest, WithoutLimitsTheBudgetIsNeverSpent) {
  EXPECT_EQ(spent({}, {1'000'000, 1'000'000, 1'000'000'000, 1'000'000'000, 1e9}), "");
}

TEST(BrainBudgetTest, CountsRequestsTokensAndCost) {
  BrainConfig c;
  c.price_in = 2;
  c.price_out = 10;
  BrainUsage usage{.requests = 3};
  charge(usage, c, 500'000, 100'000);
  EXPECT_EQ(usage.answers, 1);
  EXPECT_DOUBLE_EQ(usage.cost, 2.0);
  c.max_requests = 4;
  EXPECT_EQ(spent(c, usage), "");
  c.max_requests = 3;
  EXPECT_EQ(spent(c, usage), "brain.max_requests (3) is reached: 3 used");
  c.max_requests = -1;
  c.max_tokens = 600'000;
  EXPECT_THAT(spent(c, usage), HasSubstr("brain.max_tokens"));
  c.max_tokens = 600'001;
  EXPECT_EQ(spent(c, usage), "");
  c.max_cost = 2;
  EXPECT_THAT(spent(c, usage), HasSubstr("brain.max_cost"));
}

TEST(BrainBudgetTest, UsageIsReadBack) {
  const BrainUsage usage{7, 6, 500, 40, 0.125};
  EXPECT_EQ(usage_from_json(to_json(usage)).value(), usage);
  for (const char* wrong : {"", "[]", "{}", R"({"requests": "x"})"}) {
    EXPECT_FALSE(usage_from_json(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace warpsmith::actors
