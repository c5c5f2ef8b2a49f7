// SPDX-License-Identifier: Apache-2.0
#include "sandbox/failure/own_time.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;

TEST(OwnTimeTest, CausedATimeoutThatPassedMostlyInIt) {
  OwnTime own(Deadline::after(milliseconds{0}), milliseconds{0});
  EXPECT_FALSE(own.caused_timeout());
  own.add(milliseconds{1});
  EXPECT_TRUE(own.caused_timeout());
}

TEST(OwnTimeTest, CausedNoTimeoutBeforeTheDeadlineOrByOthers) {
  OwnTime plenty(Deadline::after(std::chrono::hours{1}), milliseconds{0});
  plenty.add(std::chrono::minutes{59});
  EXPECT_FALSE(plenty.caused_timeout());
  OwnTime little(Deadline::after(milliseconds{20}), milliseconds{0});
  little.add(milliseconds{5});
  std::this_thread::sleep_for(milliseconds{25});
  EXPECT_FALSE(little.caused_timeout());
  little.add(milliseconds{6});
  EXPECT_TRUE(little.caused_timeout());
}

TEST(OwnTimeTest, CausedNoTimeoutWithinTheLeastTime) {
  OwnTime own(Deadline::after(milliseconds{0}), milliseconds{5});
  own.add(milliseconds{5});
  EXPECT_FALSE(own.caused_timeout());
  own.add(milliseconds{1});
  EXPECT_TRUE(own.caused_timeout());
}

}  // namespace
}  // namespace warpsmith::sandbox
