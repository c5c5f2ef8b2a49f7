// SPDX-License-Identifier: Apache-2.0
#include "runtime/one_line.hpp"

#include <gtest/gtest.h>

namespace warpsmith {
namespace {

TEST(OneLineTest, EndsOfLinesBecomeLetters) {
  EXPECT_EQ(one_line("a\nb\r\n"), "a\\nb\\r\\n");
  EXPECT_EQ(one_line("größer\t1"), "größer\t1");
  EXPECT_EQ(one_line(""), "");
}

}  // namespace
}  // namespace warpsmith
