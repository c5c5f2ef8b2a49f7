// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/signals.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace warpsmith::actors {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ExitedWithCode;

void interrupt() {
  (void)::kill(::getpid(), SIGINT);
}

/// Waits for a signal to end the process; the test fails if none does.
void wait_for_the_end() {
  ::sleep(20);
}

TEST(SignalWaitTest, WaitReturnsTheFirstSignalOnce) {
  const SignalWait signals;
  EXPECT_FALSE(signals.wait(milliseconds{0}));
  interrupt();
  EXPECT_TRUE(signals.wait(seconds{20}));
  EXPECT_FALSE(signals.wait(milliseconds{0}));
}

TEST(SignalWaitTest, PrintsItsMessageOnce) {
  testing::internal::CaptureStderr();
  {
    const SignalWait signals{"stopping"};
    interrupt();
    EXPECT_TRUE(signals.wait(seconds{20}));
    interrupt();
    EXPECT_FALSE(signals.wait(milliseconds{50}));
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "stopping\n");
}

TEST(SignalWaitTest, TwoAtOnceCountAsOne) {
  const SignalWait signals;
  interrupt();
  EXPECT_TRUE(signals.wait(seconds{20}));
  interrupt();
  EXPECT_FALSE(signals.wait(milliseconds{50}));
}

TEST(SignalWaitDeathTest, TheSecondSignalEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const SignalWait signals;
        interrupt();
        for (int i = 0; i < 2000; ++i) {
          interrupt();
          (void)signals.wait(milliseconds{10});
        }
      },
      ExitedWithCode(130), "");
}

TEST(SignalWaitDeathTest, AfterExitOnNextTheFirstSignalEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const SignalWait signals;
        signals.exit_on_next();
        interrupt();
        wait_for_the_end();
      },
      ExitedWithCode(130), "");
}

}  // namespace
}  // namespace warpsmith::actors
