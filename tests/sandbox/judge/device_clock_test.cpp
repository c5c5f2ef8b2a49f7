// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/decision.hpp"

#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

/// The events' time, and how much longer the time of the verifier's clock is.
Timings timings(double events_ms, double gap_ms) {
  Timings made{.on_device = true};
  made.blocks.assign(9, {.candidate_ms = events_ms, .candidate_clock_ms = events_ms + gap_ms});
  return made;
}

TEST(DeviceClockTest, EventsCountWhileTheClockAgrees) {
  EXPECT_EQ(trusted_clock(timings(0.02, 0.004)), DeviceClock::events);
  EXPECT_EQ(trusted_clock(timings(2, 0.055)), DeviceClock::events);
  EXPECT_EQ(trusted_clock(timings(0.02, -0.03)), DeviceClock::events);
  EXPECT_EQ(by_trusted_clock(timings(0.02, 0.004)).blocks[3].candidate_ms, 0.02);
}

TEST(DeviceClockTest, TooShortEventsGainNothing) {
  const Timings forged = timings(0.02, 0.04);
  EXPECT_EQ(trusted_clock(forged), DeviceClock::verifier);
  for (const TimedBlock& block : by_trusted_clock(forged).blocks) {
    EXPECT_DOUBLE_EQ(block.candidate_ms, 0.06);
  }
}

TEST(DeviceClockTest, NeitherCountsIfTheyAreFarApart) {
  EXPECT_EQ(trusted_clock(timings(0.02, 0.06)), DeviceClock::neither);
  EXPECT_EQ(trusted_clock(timings(10, 0.4)), DeviceClock::neither);
}

TEST(DeviceClockTest, AGapExplainedByWaitingForTheCoreBlamesNoCandidate) {
  Timings made = timings(4.5, 2.8);
  for (TimedBlock& block : made.blocks) block.candidate_waited_ms = 2.7;
  EXPECT_EQ(trusted_clock(made), DeviceClock::disturbed);
  for (TimedBlock& block : made.blocks) block.candidate_waited_ms = 1;
  EXPECT_EQ(trusted_clock(made), DeviceClock::neither);
}

TEST(DeviceClockTest, OneDisturbedBlockHasNoEffect) {
  Timings made = timings(0.02, 0.001);
  made.blocks[4].candidate_clock_ms = 3;
  EXPECT_EQ(trusted_clock(made), DeviceClock::events);
  EXPECT_NEAR(clock_gap_ms(made), 0.001, 1e-12);
}

}  // namespace
}  // namespace warpsmith::sandbox
