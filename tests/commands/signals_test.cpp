// SPDX-License-Identifier: Apache-2.0
#include "commands/signals.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <csignal>

namespace warpsmith::commands {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ExitedWithCode;

void interrupt() {
  (void)::kill(::getpid(), SIGINT);
}

/// Two signals that are pending before a thread waits for them: a machine that freezes between them
/// would part them.
class TwoAtOnce {
 public:
  TwoAtOnce() {
    pthread_sigmask(SIG_BLOCK, &both_, &before_);
    (void)::kill(::getpid(), SIGINT);
    (void)::kill(::getpid(), SIGTERM);
  }
  ~TwoAtOnce() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  TwoAtOnce(const TwoAtOnce&) = delete;
  TwoAtOnce& operator=(const TwoAtOnce&) = delete;
  /// Waits until both were taken.
  bool were_taken() const {
    const Deadline deadline = Deadline::after(seconds{120});
    while (is_pending() && !deadline.passed()) ::sched_yield();
    return !is_pending();
  }

 private:
  static sigset_t stop_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
  }
  static bool is_pending() {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1;
  }
  const sigset_t both_ = stop_signals();
  sigset_t before_{};
};

/// Waits for a signal to end the process; the test fails if none does.
void wait_for_the_end() {
  ::sleep(120);
}

TEST(SignalWaitTest, WaitReturnsTheFirstSignalOnce) {
  const SignalWait signals;
  EXPECT_FALSE(signals.wait(milliseconds{0}));
  interrupt();
  EXPECT_TRUE(signals.wait(seconds{120}));
  EXPECT_FALSE(signals.wait(milliseconds{0}));
}

TEST(SignalWaitTest, PrintsItsMessageOnce) {
  testing::internal::CaptureStderr();
  {
    const TwoAtOnce two;
    const SignalWait signals{"stopping"};
    EXPECT_TRUE(signals.wait(seconds{120}));
    EXPECT_TRUE(two.were_taken());
    EXPECT_FALSE(signals.wait(milliseconds{50}));
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "stopping\n");
}

TEST(SignalWaitTest, TwoAtOnceCountAsOne) {
  const TwoAtOnce two;
  const SignalWait signals;
  EXPECT_TRUE(signals.wait(seconds{120}));
  EXPECT_TRUE(two.were_taken());
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
}  // namespace warpsmith::commands
