// SPDX-License-Identifier: Apache-2.0
#include "sandbox/ingest/device_turns.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

class DeviceTurnsTest : public ::testing::Test {
 protected:
  Result<std::optional<DeviceLease>> lease(Deadline by) {
    TRY(auto held, DeviceLease::acquire(place, "gpu", by));
    return std::optional<DeviceLease>{std::move(held)};
  }
  bool is_free() { return lease(Deadline::after(milliseconds{30})).has_value(); }
  DeviceTurns turns(milliseconds within = minutes{10}) {
    return {[this](Deadline by) { return lease(by); },
            [this] { return DeviceShare::open(place, "gpu"); }, minutes{5},
            Deadline::after(within)};
  }

  /// A share that has waited for long locks byte 1 (lease.hpp).
  bool a_share_waits() {
    const UniqueFd file = open_lease(place, "gpu").value();
    struct flock seen{
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1, .l_pid = 0};
    return ::fcntl(file.get(), F_OFD_GETLK, &seen) == 0 && seen.l_type != F_UNLCK;
  }

  const test_support::TemporaryFolder folder;
  const std::string place = folder.path().string();
};

TEST_F(DeviceTurnsTest, SeveralComputeAtOnceAndLetALeaseThrough) {
  DeviceTurns one = turns(), two = turns();
  ASSERT_TRUE(one.compute());
  ASSERT_TRUE(two.compute());
  EXPECT_FALSE(is_free());
  std::atomic<bool> measured = false;
  const auto work = [&measured](DeviceTurns& turns) {
    while (!measured) ASSERT_TRUE(turns.compute());
  };
  std::jthread first(work, std::ref(one)), second(work, std::ref(two));
  const bool leased = lease(Deadline::after(minutes{2})).has_value();
  measured = true;
  EXPECT_TRUE(leased);
}

TEST_F(DeviceTurnsTest, TimesAlone) {
  DeviceTurns one = turns();
  ASSERT_TRUE(one.compute());
  ASSERT_TRUE(one.be_alone());
  EXPECT_FALSE(DeviceShare::open(place, "gpu").value().try_hold());
  ASSERT_TRUE(one.compute());
  EXPECT_FALSE(DeviceShare::open(place, "gpu").value().try_hold()) << "it stays alone";
}

TEST_F(DeviceTurnsTest, AWaitDoesNotCountAsTheTasksTime) {
  DeviceTurns one = turns();
  const auto before = one.patience().by.at();
  {
    std::optional held{lease(Deadline::after(minutes{2}))};
    std::jthread other([&] { ASSERT_TRUE(one.compute()); });
    while (!a_share_waits()) std::this_thread::yield();
    held.reset();
  }
  EXPECT_GT(one.patience().by.at(), before);
  EXPECT_EQ(one.patience().blame, Blame::task);
}

TEST_F(DeviceTurnsTest, AWaitEndsAtTheDeadline) {
  const auto held = lease(Deadline::after(minutes{2}));
  DeviceTurns one = turns(milliseconds{30});
  const auto waited = one.compute();
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, ErrorCode::timeout);
}

TEST_F(DeviceTurnsTest, WithoutSharesTheLeaseIsHeldFromTheFirstTurn) {
  DeviceTurns one([this](Deadline by) { return lease(by); }, {}, minutes{5},
                  Deadline::after(minutes{10}));
  ASSERT_TRUE(one.compute());
  EXPECT_FALSE(DeviceShare::open(place, "gpu").value().try_hold());
}

}  // namespace
}  // namespace warpsmith::sandbox
