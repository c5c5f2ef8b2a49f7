// SPDX-License-Identifier: Apache-2.0
// The disk becomes full while the whole tree trains by PPO: the run says so and ends, and a resume
// with more room loses nothing.
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>

#include <algorithm>

#include "tests/actors/run/run_fixture.hpp"

namespace warpsmith::actors {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

/// What becomes full: a checkpoint does not fit, or the records before one do not.
struct SmallDisk {
  const char* name;
  const char* size;
  const char* checkpoint_steps;
};

class DiskFullRunTest : public RunFixture, public ::testing::WithParamInterface<SmallDisk> {
 protected:
  /// Mounts a file system of this size for this thread and those that it starts.
  bool mount_disk(const char* size) {
    if (::unshare(CLONE_NEWNS) != 0) return false;
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
    mounted_ = ::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, size) == 0;
    return mounted_;
  }
  void make_room() const {
    ASSERT_EQ(::mount("tmpfs", folder.path().c_str(), "tmpfs", MS_REMOUNT, "size=1g"), 0);
  }
  void TearDown() override {
    if (mounted_) (void)::umount2(folder.path().c_str(), MNT_DETACH);
  }
  bool has_event_of_full_disk() const {
    auto db = RunDatabase::open(RunPaths{folder.path() / "run"}.database(), SqlAccess::read_only);
    const auto events = recent_events(*db, 20);
    return events && std::ranges::any_of(*events, [](const EventRow& event) {
             return event.kind == "write_failed" || event.kind == "checkpoint_failed";
           });
  }

  bool mounted_ = false;
};

TEST_P(DiskFullRunTest, TheRunSaysSoAndTheResumeLosesNothing) {
  if (!mount_disk(GetParam().size)) GTEST_SKIP() << "no mount is allowed here";
  const std::string steps = std::string("ledger.checkpoint_steps=") + GetParam().checkpoint_steps;
  const std::string end = run_whole(config({steps}));
  EXPECT_TRUE(end.starts_with("failed: ")) << end;
  EXPECT_THAT(end, AnyOf(HasSubstr("No space left on device"), HasSubstr("disk is full")));
  EXPECT_TRUE(has_event_of_full_disk());
  EXPECT_TRUE(summary().is_conserved());
  make_room();
  {
    auto session = resume_run(config(), folder.path() / "run", "{}");
    ASSERT_TRUE(session) << session.error().message;
    EXPECT_EQ(run(inputs_of(config(), *session), UINT64_MAX), "done");
  }
  EXPECT_EQ(summary().admitted, 24U);
  EXPECT_EQ(summary().in_flight, 0U);
  EXPECT_EQ(summary().dropped.count("infrastructure"), 0U);
  EXPECT_TRUE(summary().is_conserved());
}

INSTANTIATE_TEST_SUITE_P(EachThatBecomesFull, DiskFullRunTest,
                         ::testing::Values(SmallDisk{"checkpoint", "size=8m", "1"},
                                           SmallDisk{"records", "size=1m", "1000"}),
                         [](const auto& disk) { return std::string(disk.param.name); });

}  // namespace
}  // namespace warpsmith::actors
