// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/workspace.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/sandbox/workspace/workspace_fixture.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

class WorkspaceTest : public WorkspaceFixture {};

TEST_F(WorkspaceTest, HoldsTheGivenFilesReadOnlyAndAnEmptySolution) {
  EXPECT_EQ(files().read("SKILL.md", 100).value(), "skill\n");
  EXPECT_TRUE(workspace_->is_given("task.json"));
  EXPECT_TRUE(fs::is_empty(folder() / "solution"));
  struct stat status{};
  ASSERT_EQ(::stat((folder() / "SKILL.md").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0444U);
}

TEST_F(WorkspaceTest, NameIsTakenOnlyOnce) {
  EXPECT_EQ(base_->create("trajectory-1", {}).error().code, ErrorCode::already_exists);
}

TEST_F(WorkspaceTest, IsRemovedWithItsObjectWhateverItContains) {
  const fs::path place = folder();
  ASSERT_TRUE(files().write("solution/a/b", "x"));
  ASSERT_EQ(::mkfifo((place / "pipe").c_str(), 0600), 0);
  fs::create_directory_symlink(outside_.path(), place / "solution/out");
  std::ofstream(outside_.path() / "kept") << "host";
  fs::permissions(place / "solution/a", fs::perms::none);
  workspace_.reset();
  EXPECT_FALSE(fs::exists(place));
  EXPECT_TRUE(fs::exists(outside_.path() / "kept"));
}

TEST_F(WorkspaceTest, VeryDeepTreesAreRemoved) {
  int fd = ::open(folder().c_str(), O_RDONLY | O_DIRECTORY);
  for (int depth = 0; depth < 1100; ++depth) {  // beyond PATH_MAX and open files
    ASSERT_EQ(::mkdirat(fd, "deeper", 0755), 0);
    const int next = ::openat(fd, "deeper", O_RDONLY | O_DIRECTORY);
    ::close(fd);
    fd = next;
  }
  ::close(fd);
  const fs::path place = folder();
  workspace_.reset();
  EXPECT_FALSE(fs::exists(place));
}

TEST_F(WorkspaceTest, FilesWithTheNamesOfRemovalDoNotStopIt) {
  fs::create_directories(folder() / ".lifted-1/x/y");
  fs::create_directories(folder() / ".lifted-2/x/.lifted-3/y");
  const fs::path place = folder();
  workspace_.reset();
  EXPECT_FALSE(fs::exists(place));
}

TEST_F(WorkspaceTest, FoldersOfALiveOwnerAreNotSwept) {
  const auto other = WorkspaceBase::open(outside_.path() / "base");
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_TRUE(fs::exists(folder()));
}

TEST_F(WorkspaceTest, FoldersOfAKilledOwnerAreSwept) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto base = WorkspaceBase::open(outside_.path() / "crash");
    auto workspace = base->create("trajectory-9", {{"SKILL.md", "x"}});
    ::_exit(workspace ? 0 : 1);  // no destructor runs
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const auto folders = [&] {
    return std::distance(fs::directory_iterator(outside_.path() / "crash"), {});
  };
  EXPECT_EQ(folders(), 1);
  {
    const auto base = WorkspaceBase::open(outside_.path() / "crash");
    ASSERT_TRUE(base) << base.error().message;
    EXPECT_EQ(folders(), 1) << "its own";
  }
  EXPECT_TRUE(fs::is_empty(outside_.path() / "crash"));
}

TEST_F(WorkspaceTest, UnreadableFoldersAreLeftAlone) {
  const fs::path strange =
      outside_.path() / "base" / (std::string(owned_folder_prefix) + "strange");
  fs::create_symlink(strange, strange);  // points to itself
  const auto other = WorkspaceBase::open(outside_.path() / "base");
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_TRUE(fs::is_symlink(strange));
}

TEST_F(WorkspaceTest, BaseThatCannotBeMadeIsNamed) {
  std::ofstream(outside_.path() / "file") << "x";
  const auto base = WorkspaceBase::open(outside_.path() / "file/base");
  ASSERT_FALSE(base);
  EXPECT_NE(base.error().message.find("file/base"), std::string::npos);
}

}  // namespace
}  // namespace warpsmith::sandbox
