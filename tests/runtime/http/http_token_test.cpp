// SPDX-License-Identifier: Apache-2.0
#include "runtime/http/http_token.hpp"

#include <gtest/gtest.h>

namespace warpsmith {
namespace {

TEST(HttpTokenTest, CaseAndBlanksDoNotMatter) {
  EXPECT_EQ(http_token(" Chunked\t"), "chunked");
  EXPECT_EQ(http_token(" "), "");
  EXPECT_EQ(media_type("Application/JSON ; charset=utf-8"), "application/json");
  EXPECT_EQ(media_type(""), "");
}

TEST(HttpTokenTest, ATokenIsFoundInAList) {
  EXPECT_TRUE(has_http_token("TE, Close", "close"));
  EXPECT_TRUE(has_http_token("Keep-Alive", "keep-alive"));
  EXPECT_FALSE(has_http_token("closed", "close"));
  EXPECT_FALSE(has_http_token("", "close"));
}

}  // namespace
}  // namespace warpsmith
