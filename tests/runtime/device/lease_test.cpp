// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/lease.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace warpsmith {
namespace {

using std::chrono::milliseconds;
using test_support::TemporaryFolder;

Deadline soon() {
  return Deadline::after(milliseconds{30});
}

TEST(DeviceLeaseTest, ADeviceHasOneHolderAtATime) {
  const TemporaryFolder folder;
  const std::string place = folder.path().string();
  std::optional<DeviceLease> first = DeviceLease::acquire(place, "gpu-a", soon()).value();
  const auto second = DeviceLease::acquire(place, "gpu-a", soon());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::timeout);
  EXPECT_TRUE(DeviceLease::acquire(place, "gpu-b", soon()));
  first.reset();
  EXPECT_TRUE(DeviceLease::acquire(place, "gpu-a", soon()));
}

TEST(DeviceLeaseTest, AKilledHolderReleasesIt) {
  const TemporaryFolder folder;
  const std::string place = folder.path().string();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    const auto lease = DeviceLease::acquire(place, "gpu", soon());
    const char held = lease ? 'y' : 'n';
    (void)!::write(ready[1], &held, 1);
    ::pause();
    ::_exit(0);
  }
  char held = 0;
  ASSERT_EQ(::read(ready[0], &held, 1), 1);
  EXPECT_EQ(held, 'y');
  EXPECT_FALSE(DeviceLease::acquire(place, "gpu", soon()));
  (void)::kill(holder, SIGKILL);
  (void)::waitpid(holder, nullptr, 0);
  EXPECT_TRUE(DeviceLease::acquire(place, "gpu", soon()));
}

/// The holder times a candidate, perhaps on the waiter's core.
TEST(DeviceLeaseTest, AWaiterSleepsUntilItsDeadline) {
  const TemporaryFolder folder;
  const std::string place = folder.path().string();
  const auto held = DeviceLease::acquire(place, "gpu", soon()).value();
  const auto switches = [] {
    rusage used{};
    (void)::getrusage(RUSAGE_THREAD, &used);
    return used.ru_nvcsw;
  };
  const long before = switches();
  const auto began = SteadyClock::now();
  const auto second = DeviceLease::acquire(place, "gpu", Deadline::after(milliseconds{400}));
  const double waited_ms = in_ms(SteadyClock::now() - began);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::timeout);
  EXPECT_GE(waited_ms, 400);
  EXPECT_LT(switches() - before, 20);
}

TEST(DeviceLeaseTest, AWaiterGetsTheLeaseOnceItsHolderReleasesIt) {
  const TemporaryFolder folder;
  const std::string place = folder.path().string();
  std::optional<DeviceLease> held = DeviceLease::acquire(place, "gpu", soon()).value();
  std::atomic<bool> begun{false};
  bool got = false;
  std::thread waiter([&] {
    begun = true;
    got = DeviceLease::acquire(place, "gpu", Deadline::after(std::chrono::seconds{60})).has_value();
  });
  while (!begun) std::this_thread::yield();
  held.reset();
  waiter.join();
  EXPECT_TRUE(got);
}

TEST(DeviceLeaseTest, AWaitTimesOutInAThreadThatBlocksSignals) {
  const TemporaryFolder folder;
  const std::string place = folder.path().string();
  const auto held = DeviceLease::acquire(place, "gpu", soon()).value();
  sigset_t all, before, after;
  (void)::sigfillset(&all);
  (void)::pthread_sigmask(SIG_BLOCK, &all, &before);
  EXPECT_FALSE(DeviceLease::acquire(place, "gpu", soon()));
  (void)::pthread_sigmask(SIG_SETMASK, &before, &after);
  EXPECT_TRUE(::sigismember(&after, SIGRTMIN)) << "the mask is as it was";
}

TEST(DeviceShareTest, SharesAreConcurrentButExcludeLeases) {
  const TemporaryFolder folder;
  const std::string place = folder.path().string();
  auto one = DeviceShare::open(place, "gpu").value(), two = DeviceShare::open(place, "gpu").value();
  EXPECT_TRUE(one.try_hold());
  EXPECT_TRUE(two.try_hold());
  EXPECT_FALSE(DeviceLease::acquire(place, "gpu", soon()));
  EXPECT_FALSE(one.is_wanted()) << "the waiter has timed out";
  one.give_back();
  EXPECT_FALSE(DeviceLease::acquire(place, "gpu", soon()));
  two.give_back();
  const auto lease = DeviceLease::acquire(place, "gpu", soon());
  ASSERT_TRUE(lease);
  EXPECT_FALSE(one.try_hold());
}

/// A policy that takes a share at every step must not keep measurements out.
TEST(DeviceShareTest, AWaitingLeaseHasPriorityOverNewShares) {
  const TemporaryFolder folder;
  const std::string place = folder.path().string();
  auto held = DeviceShare::open(place, "gpu").value(),
       later = DeviceShare::open(place, "gpu").value();
  ASSERT_TRUE(held.try_hold());
  bool got = false;
  std::thread waiter([&] {
    got = DeviceLease::acquire(place, "gpu", Deadline::after(std::chrono::seconds{60})).has_value();
  });
  while (!held.is_wanted()) std::this_thread::yield();
  EXPECT_FALSE(later.try_hold());
  held.give_back();
  waiter.join();
  EXPECT_TRUE(got);
  EXPECT_TRUE(later.try_hold()) << "the lease is over";
}

Deadline guard() {
  return Deadline::after(std::chrono::minutes{2});
}

/// Several slots whose measurements follow each other must not keep a policy out.
TEST(DeviceShareTest, ASeriesOfLeasesLetsAShareThrough) {
  const TemporaryFolder folder;
  const std::string place = folder.path().string();
  std::atomic<bool> enough = false;
  std::atomic<int> measured = 0;
  const auto measure = [&] {
    while (!enough) {
      const auto lease = DeviceLease::acquire(place, "gpu", guard());
      ASSERT_TRUE(lease);
      ++measured;
      std::this_thread::sleep_for(milliseconds{20});
    }
  };
  std::vector<std::jthread> slots;
  for (int i = 0; i < 3; ++i) slots.emplace_back(measure);
  while (measured < 6) std::this_thread::yield();
  auto work = DeviceShare::open(place, "gpu").value();
  ASSERT_TRUE(work.hold(guard()));
  EXPECT_FALSE(work.is_wanted()) << "it keeps a slice, although slots wait";
  while (!work.is_wanted()) std::this_thread::sleep_for(milliseconds{2});
  const int before = measured;
  work.give_back();
  while (measured < before + 3) std::this_thread::yield();
  EXPECT_TRUE(work.hold(guard()));
  enough = true;
  work.give_back();
}

TEST(DeviceRoomTest, WorkThatNeedsMuchIsAloneThere) {
  const TemporaryFolder folder;
  const std::string place = folder.path().string();
  const auto room = [&](bool much) { return acquire_room(place, "gpu", much, soon()); };
  std::optional one{room(false)}, two{room(false)};
  EXPECT_TRUE(*one && *two);
  EXPECT_FALSE(room(true));
  EXPECT_TRUE(DeviceLease::acquire(place, "gpu", soon())) << "the memory has a lock of its own";
  one.reset(), two.reset();
  const auto alone = room(true);
  ASSERT_TRUE(alone);
  const auto refused = room(false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "device gpu-memory: not free in time");
}

/// True if a share has waited so long that it has priority over leases.
bool is_due(const std::string& place) {
  const UniqueFd file = open_lease(place, "gpu").value();
  struct flock seen{};
  seen.l_type = F_WRLCK;
  seen.l_start = 1;
  seen.l_len = 1;
  return ::fcntl(file.get(), F_OFD_GETLK, &seen) == 0 && seen.l_type != F_UNLCK;
}

TEST(DeviceShareTest, ALeaseWaitsOnlyBrieflyForAShareThatNeverComes) {
  const TemporaryFolder folder;
  const std::string place = folder.path().string();
  auto work = DeviceShare::open(place, "gpu").value();
  {
    const auto lease = DeviceLease::acquire(place, "gpu", soon()).value();
    const Deadline due = Deadline::after(2 * DeviceShare::patience);
    while (!due.passed()) ASSERT_FALSE(work.try_hold());
  }
  EXPECT_TRUE(is_due(place));
  const auto start = SteadyClock::now();
  EXPECT_TRUE(DeviceLease::acquire(place, "gpu", Deadline::after(std::chrono::minutes{1})));
  EXPECT_GE(SteadyClock::now() - start, milliseconds{500});
  work.give_back();
  EXPECT_FALSE(is_due(place)) << "it waits no longer";
}

TEST(DeviceLeaseTest, AFolderThatCannotBeWrittenIsNamed) {
  const auto lease = DeviceLease::acquire("/proc/nowhere", "gpu", soon());
  ASSERT_FALSE(lease);
  EXPECT_NE(lease.error().message.find("/proc/nowhere/gpu.lock"), std::string::npos);
}

TEST(DeviceLeaseTest, AllUsersCanOpenItsFilesDespiteTheUmask) {
  const TemporaryFolder folder;
  const std::filesystem::path place = folder.path() / "leases";
  const mode_t before = ::umask(077);
  const bool opened = open_lease(place.string(), "gpu").has_value();
  (void)::umask(before);
  ASSERT_TRUE(opened);
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(place).permissions(), perms::all | perms::sticky_bit);
  EXPECT_EQ(std::filesystem::status(place / "gpu.lock").permissions(),
            perms::owner_read | perms::owner_write | perms::group_read | perms::group_write |
                perms::others_read | perms::others_write);
}

TEST(DeviceLeaseTest, DoesNotFollowALinkInPlaceOfItsFile) {
  const TemporaryFolder folder;
  const std::filesystem::path victim = folder.path() / "victim";
  std::filesystem::create_symlink(victim, folder.path() / "gpu.lock");
  EXPECT_FALSE(open_lease(folder.path().string(), "gpu"));
  EXPECT_FALSE(std::filesystem::exists(victim));
}

/// Only root can act as two users; the kernel may refuse O_CREAT between them.
TEST(DeviceLeaseTest, TwoUsersShareOneLease) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to act as two users";
  const TemporaryFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  std::filesystem::permissions(folder.path().parent_path(), std::filesystem::perms::all);
  const std::string place = (folder.path() / "leases").string();
  const auto taken_as = [&](uid_t user) {
    const pid_t child = ::fork();
    if (child == 0) {
      const bool held = ::setuid(user) == 0 && DeviceLease::acquire(place, "gpu", soon());
      ::_exit(held ? 0 : 1);
    }
    int status = 1;
    (void)::waitpid(child, &status, 0);
    return status == 0;
  };
  EXPECT_TRUE(taken_as(40001));
  EXPECT_TRUE(taken_as(40002));
  EXPECT_TRUE(DeviceLease::acquire(place, "gpu", soon())) << "root opens another user's file";
}

TEST(DeviceLeaseTest, RefreshesTheTimestampOfItsFile) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "gpu.lock";
  ASSERT_TRUE(open_lease(folder.path().string(), "gpu"));
  const auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours{1000};
  std::filesystem::last_write_time(file, old);
  ASSERT_TRUE(open_lease(folder.path().string(), "gpu"));
  EXPECT_GT(std::filesystem::last_write_time(file), old);
}

}  // namespace
}  // namespace warpsmith
