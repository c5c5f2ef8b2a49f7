// SPDX-License-Identifier: Apache-2.0
#include "sandbox/device/lease.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "tests/support/temporary_folder.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;
using test_support::TemporaryFolder;

Deadline soon() {
  return Deadline::after(milliseconds{30});
}

TEST(DeviceLeaseTest, OneHolderPerDevice) {
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

TEST(DeviceLeaseTest, AHolderThatIsKilledLetsGo) {
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

TEST(DeviceLeaseTest, AFolderThatCannotBeWrittenIsNamed) {
  const auto lease = DeviceLease::acquire("/proc/nowhere", "gpu", soon());
  ASSERT_FALSE(lease);
  EXPECT_NE(lease.error().message.find("/proc/nowhere/gpu.lock"), std::string::npos);
}

}  // namespace
}  // namespace warpsmith::sandbox
