// SPDX-License-Identifier: Apache-2.0
#include "sandbox/timing/call_meter.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace warpsmith::sandbox {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(CoreTimeTest, ReadsTheSchedulersText) {
  const auto reading = parse_schedstat("188320919 359721396 407\n");
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->on_core, nanoseconds{188320919});
  EXPECT_EQ(reading->waited, nanoseconds{359721396});
}

TEST(CoreTimeTest, RejectsOtherTexts) {
  for (const char* text : {"", "12", "a b c", "-1 5 6", "99999999999999999999999 1 1"}) {
    EXPECT_FALSE(parse_schedstat(text)) << text;
  }
}

TEST(CoreTimeTest, OwnAccountGrows) {
  const CoreTime own = CoreTime::of_this_thread();
  const auto before = own.read();
  if (!before) GTEST_SKIP() << "this kernel keeps no schedstat";
  const auto until = std::chrono::steady_clock::now() + milliseconds{30};
  while (std::chrono::steady_clock::now() < until) (void)::getppid();
  EXPECT_GE(own.read()->on_core + own.read()->waited, before->on_core + before->waited);
}

TEST(CoreTimeTest, ChargesNothingForWaitingForOthers) {
  const CallAccount account{.elapsed = milliseconds{5},
                            .on_core = milliseconds{1},
                            .contestant_wait = milliseconds{3},
                            .verifier_wait = milliseconds{1}};
  EXPECT_DOUBLE_EQ(charged_ms(account, microseconds{10}), 0.99);
}

TEST(CallMeterTest, ContinuingAfterDoneIsAFault) {
  EXPECT_FALSE(fault_of({.elapsed = milliseconds{5}, .on_core = milliseconds{24}}));
  const auto fault = fault_of({.elapsed = milliseconds{5}, .on_core = milliseconds{26}});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->outcome, VerdictClass::device_fault);
}

TEST(CallMeterTest, ChargesTheClockOrTheDeviceLessAnEmptyCall) {
  const auto call = [] {
    return CallResult{.elapsed = milliseconds{9}, .device = milliseconds{5}};
  };
  const MeteredCall clock = CallMeter::by_clock(milliseconds{1}).measure(call);
  EXPECT_DOUBLE_EQ(clock.charged_ms, 8);
  EXPECT_DOUBLE_EQ(clock.clock_ms, 8);
  const MeteredCall device =
      CallMeter::by_device(getpid(), milliseconds{1}).measure(call, milliseconds{3});
  EXPECT_DOUBLE_EQ(device.charged_ms, 4);
  EXPECT_DOUBLE_EQ(device.elapsed_ms, 9);
  EXPECT_DOUBLE_EQ(device.clock_ms, 6) << "the empty call just before is subtracted";
}

TEST(CoreTimeTest, ChargesSleepAndWorkAfterDone) {
  EXPECT_DOUBLE_EQ(charged_ms({.elapsed = milliseconds{5}, .on_core = milliseconds{1}}, {}), 5);
  EXPECT_DOUBLE_EQ(charged_ms({.elapsed = milliseconds{1}, .on_core = milliseconds{4}}, {}), 4);
}

}  // namespace
}  // namespace warpsmith::sandbox
