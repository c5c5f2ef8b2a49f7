// SPDX-License-Identifier: Apache-2.0
#include "synthesis/funnel.hpp"

#include <gtest/gtest.h>

namespace warpsmith::synthesis {
namespace {

Funnel funnel_of(std::initializer_list<const char*> reasons) {
  Funnel funnel;
  for (const char* reason : reasons) {
    funnel.add({.reason = reason, .steps = {{"eager", 0.25}}});
  }
  return funnel;
}

TEST(FunnelTest, CountsReasonsAndAddsUpTheSecondsOfSteps) {
  const Funnel funnel = funnel_of({"", "raises", "too_fast", "raises"});
  EXPECT_EQ(funnel.candidates, 4U);
  EXPECT_EQ(funnel.accepted, 1U);
  EXPECT_EQ(funnel.rejected, (std::map<std::string, uint64_t>{{"raises", 2}, {"too_fast", 1}}));
  EXPECT_EQ(funnel.seconds, (std::map<std::string, double>{{"eager", 1.0}}));
}

TEST(FunnelTest, TheSummaryNamesTheMostFrequentReasons) {
  EXPECT_EQ(line_of({}), "0 accepted of 0 candidates");
  EXPECT_EQ(line_of(funnel_of({"e", "", "d", "c", "b", "b", "a"})),
            "1 accepted of 7 candidates; rejected: 2 b, 1 a, 1 c, 1 d");
}

TEST(FunnelTest, AWrittenFunnelIsReadBack) {
  const Funnel funnel = funnel_of({"", "raises"});
  EXPECT_EQ(parse_funnel(to_json(funnel)).value(), funnel);
  for (const char* wrong : {"", "[]", R"({"candidates": "x"})", R"({"candidates": 1})"}) {
    EXPECT_EQ(parse_funnel(wrong).error().code, ErrorCode::parse_failed) << wrong;
  }
}

}  // namespace
}  // namespace warpsmith::synthesis
