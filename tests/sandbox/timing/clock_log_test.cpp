// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/clock_log.hpp"

#include <gtest/gtest.h>

namespace warpsmith::sandbox {
namespace {

using std::chrono::microseconds;

/// Counts its readings. Each takes a fixed virtual time, or a second from the reading `slow` on.
class Counting final : public cuda::ClockReader {
 public:
  explicit Counting(microseconds takes, int slow = 1000) : takes_(takes), slow_(slow) {}
  cuda::ClockSample read() override {
    now_ += readings_ < slow_ ? takes_ : microseconds{1'000'000};
    return {.sm_mhz = 1000 + readings_++};
  }
  ClockLog::Now clock() {
    return [this] { return now_; };
  }

 private:
  microseconds takes_;
  int slow_;
  SteadyClock::time_point now_{};
  int readings_ = 0;
};

ClockRecord logged(microseconds reading, int blocks, int slow = 1000) {
  Counting reader(reading, slow);
  ClockLog log(reader, reader.clock());
  log.begin();
  for (int i = 0; i < blocks; ++i) log.block_done();
  return log.end();
}

TEST(ClockLogTest, ReadsAroundEachBlockWhereThatIsQuick) {
  const ClockRecord record = logged(microseconds{300}, 10);
  EXPECT_TRUE(record.each_block);
  EXPECT_DOUBLE_EQ(record.first_reading_ms, 0.3);
  ASSERT_EQ(record.samples.size(), 11U);
  EXPECT_EQ(record.samples.front().sm_mhz, 1000);
  EXPECT_EQ(record.samples.back().sm_mhz, 1010);
}

TEST(ClockLogTest, ReadsBeforeAndAfterAllBlocksWhereItTakesLong) {
  const ClockRecord record = logged(microseconds{1000}, 10);
  EXPECT_FALSE(record.each_block);
  EXPECT_EQ(record.samples.size(), 2U);
}

TEST(ClockLogTest, ReadsNoMoreBlocksOnceAReadingTookLong) {
  const ClockRecord record = logged(microseconds{300}, 10, 3);
  EXPECT_FALSE(record.each_block);
  ASSERT_EQ(record.samples.size(), 5U) << "one before, three after blocks, one after all";
  EXPECT_EQ(record.samples.back().sm_mhz, 1004);
}

TEST(ClockLogTest, DoesNotReadIfTimingNeverBegan) {
  Counting reader(microseconds{1});
  ClockLog log(reader, reader.clock());
  EXPECT_TRUE(log.end().samples.empty());
}

}  // namespace
}  // namespace warpsmith::sandbox
