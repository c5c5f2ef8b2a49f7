// SPDX-License-Identifier: Apache-2.0
#include "runtime/clock.hpp"

#include <gtest/gtest.h>

namespace warpsmith {
namespace {

using std::chrono::milliseconds;

TEST(ClockTest, DurationsAreRoundedByTheirLength) {
  EXPECT_EQ(duration_text(milliseconds{20'000}), "20 s");
  EXPECT_EQ(duration_text(milliseconds{19'999}), "20 s") << "limits are measured a little late";
  EXPECT_EQ(duration_text(milliseconds{1500}), "1.5 s");
  EXPECT_EQ(duration_text(milliseconds{250}), "0.25 s");
  EXPECT_EQ(duration_text(milliseconds{0}), "0 s");
  EXPECT_EQ(duration_text(milliseconds{190'000}), "3m10s");
  EXPECT_EQ(duration_text(milliseconds{3'720'000}), "1h02m");
}

}  // namespace
}  // namespace warpsmith
