// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/complaints.hpp"

#include <gtest/gtest.h>

namespace warpsmith {
namespace {

TEST(ComplaintsTest, TextHasOneLinePerComplaintOrderedByPlace) {
  Complaints complaints;
  complaints.at({"b.toml", 3}, "third");
  complaints.at({"a.toml", 9}, "second");
  complaints.at({"a.toml", 2}, "first");
  EXPECT_EQ(complaints.text(), "a.toml:2: first\na.toml:9: second\nb.toml:3: third");
}

TEST(ComplaintsTest, AboutPointsToThePlaceThatSetTheKey) {
  Complaints complaints{"x.toml"};
  complaints.remember("run.seed", {"x.toml", 7});
  complaints.about("run.seed", "too odd");
  complaints.about("run.name", "missing");
  EXPECT_EQ(complaints.text(), "x.toml: run.name: missing\nx.toml:7: run.seed: too odd");
}

TEST(ComplaintsTest, ResultIsSuccessOnlyWhenNothingIsWrong) {
  Complaints complaints;
  complaints.require(true, "a.b", "never seen");
  EXPECT_TRUE(complaints.result().has_value());
  complaints.require(false, "a.b", "seen");
  ASSERT_FALSE(complaints.result().has_value());
  EXPECT_EQ(complaints.result().error().code, ErrorCode::invalid_config);
}

}  // namespace
}  // namespace warpsmith
