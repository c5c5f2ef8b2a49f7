// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/owned_folder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace warpsmith {
namespace {

namespace fs = std::filesystem;
using test_support::TemporaryFolder;

std::ptrdiff_t entries_in(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), {});
}

/// Another process that owns a folder in `base` with a file in it, until it is killed.
class OtherOwner {
 public:
  explicit OtherOwner(const fs::path& base) {
    std::array<int, 2> ready{};
    if (::pipe(ready.data()) != 0) throw std::runtime_error("pipe failed");
    pid_ = ::fork();
    if (pid_ == 0) {
      const auto mine = OwnedFolder::make(base);
      std::ofstream(mine->path() / "half") << "written";
      (void)!::write(ready[1], "x", 1);
      while (true) ::pause();
    }
    char byte = 0;
    (void)!::read(ready[0], &byte, 1);
    (void)::close(ready[0]);
    (void)::close(ready[1]);
  }
  OtherOwner(const OtherOwner&) = delete;
  OtherOwner& operator=(const OtherOwner&) = delete;
  ~OtherOwner() { kill(); }
  void kill() {
    if (pid_ <= 0) return;
    (void)::kill(pid_, SIGKILL);
    (void)::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }

 private:
  pid_t pid_ = -1;
};

TEST(OwnedFolderTest, IsRemovedWithItsContentsWhenItsObjectIsDestroyed) {
  const TemporaryFolder base;
  {
    auto made = OwnedFolder::make(base.path());
    ASSERT_TRUE(made) << made.error().message;
    const OwnedFolder moved = std::move(*made);
    EXPECT_TRUE(fs::is_empty(moved.path()));
    fs::create_directories(moved.path() / "a/b");
    EXPECT_EQ(entries_in(base.path()), 1);
  }
  EXPECT_TRUE(fs::is_empty(base.path()));
}

TEST(OwnedFolderTest, ASweepRemovesTheFolderOfAKilledOwnerButNotOfALiveOne) {
  const TemporaryFolder base;
  OtherOwner live(base.path()), killed(base.path());
  killed.kill();
  ASSERT_EQ(entries_in(base.path()), 2);
  OwnedFolder::sweep(base.path());
  ASSERT_EQ(entries_in(base.path()), 1);
  EXPECT_TRUE(fs::exists(fs::directory_iterator(base.path())->path() / "files/half"));
  live.kill();
  OwnedFolder::sweep(base.path());
  EXPECT_TRUE(fs::is_empty(base.path()));
}

TEST(OwnedFolderTest, ASweepKeepsFoldersOfItsOwnProcess) {
  const TemporaryFolder base;
  const auto mine = OwnedFolder::make(base.path());
  ASSERT_TRUE(mine) << mine.error().message;
  OwnedFolder::sweep(base.path());
  EXPECT_TRUE(fs::exists(mine->path()));
}

TEST(OwnedFolderTest, ASweepRemovesAFolderWhoseMakerDiedBeforeLockingIt) {
  const TemporaryFolder base;
  fs::create_directory(base.path() / (std::string(owned_folder_prefix) + "unlocked"));
  OwnedFolder::sweep(base.path());
  EXPECT_TRUE(fs::is_empty(base.path()));
}

TEST(OwnedFolderTest, ASweepFollowsNoLinksAndKeepsOtherNames) {
  const TemporaryFolder base, elsewhere;
  const std::string prefix = owned_folder_prefix;
  std::ofstream(elsewhere.path() / "kept") << "x";
  fs::create_directory_symlink(elsewhere.path(), base.path() / (prefix + "link"));
  std::ofstream(base.path() / (prefix + "file")) << "x";
  fs::create_directory(base.path() / "other");
  OwnedFolder::sweep(base.path());
  EXPECT_EQ(entries_in(base.path()), 3);
  EXPECT_EQ(entries_in(elsewhere.path()), 1);
}

TEST(OwnedFolderTest, MakersAndSweepsDoNotDisturbOneAnother) {
  const TemporaryFolder base;
  std::atomic<int> lost = 0;
  const auto work = [&] {
    for (int i = 0; i < 200; ++i) {
      OwnedFolder::sweep(base.path());
      const auto mine = OwnedFolder::make(base.path());
      OwnedFolder::sweep(base.path());
      if (!mine || !fs::exists(mine->path())) ++lost;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lost, 0);
  OwnedFolder::sweep(base.path());
  EXPECT_TRUE(fs::is_empty(base.path()));
}

TEST(OwnedFolderTest, ATemporaryOneRemovesThatOfAKilledProcess) {
  const TemporaryFolder base;
  ::setenv("TMPDIR", base.path().c_str(), 1);
  const fs::path left = base.path() / (std::string(owned_folder_prefix) + "killed");
  fs::create_directories(left / "files");
  std::ofstream(left / "lock") << "";  // not locked
  const auto own = OwnedFolder::make_temporary();
  const auto next = OwnedFolder::make_temporary();
  ::unsetenv("TMPDIR");
  ASSERT_TRUE(own && next);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(own->path())) << "its owner is alive";
  EXPECT_EQ(own->path().parent_path().parent_path(), base.path());
}

TEST(OwnedFolderTest, AMissingBaseIsNamed) {
  const auto made = OwnedFolder::make("/nowhere/at/all");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::not_found);
  EXPECT_NE(made.error().message.find("/nowhere/at/all"), std::string::npos);
}

}  // namespace
}  // namespace warpsmith
