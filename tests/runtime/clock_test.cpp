// SPDX-License-Identifier: Apache-2.0
#include "runtime/clock.hpp"

#include <gtest/gtest.h>

namespace warpsmith {
namespace {

using std::chrono::milliseconds;

TEST(ClockTest, RoundsSecondsToTenths) {
  EXPECT_EQ(seconds_text(milliseconds{20'000}), "20 s");
  EXPECT_EQ(seconds_text(milliseconds{19'999}), "20 s") << "limits are measured a little late";
  EXPECT_EQ(seconds_text(milliseconds{1500}), "1.5 s");
  EXPECT_EQ(seconds_text(milliseconds{250}), "0.25 s");
  EXPECT_EQ(seconds_text(milliseconds{0}), "0 s");
  EXPECT_EQ(seconds_text(milliseconds{3'600'000}), "3600 s");
}

}  // namespace
}  // namespace warpsmith
