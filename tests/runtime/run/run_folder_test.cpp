// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/run_folder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "runtime/run/owned_folder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith {
namespace {

namespace fs = std::filesystem;
using test_support::TemporaryFolder;

void make_database_file(const RunPaths& paths) {
  std::ofstream{paths.database()} << "";
}

TEST(RunFolderTest, NewRunHasItsFolders) {
  const TemporaryFolder root;
  const auto run = RunFolder::create(root.path() / "runs", "first", "quickstart");
  ASSERT_TRUE(run.has_value()) << run.error().message;
  EXPECT_EQ(run->name(), "first");
  EXPECT_TRUE(fs::is_directory(run->paths().segments()));
  EXPECT_TRUE(fs::is_directory(run->paths().checkpoints()));
}

TEST(RunFolderTest, UnnamedRunsInTheSameSecondGetDifferentNames) {
  const TemporaryFolder root;
  const auto a = RunFolder::create(root.path(), "", "quick start/../x");
  const auto b = RunFolder::create(root.path(), "", "quick start/../x");
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->name(), b->name());
  EXPECT_NE(a->name().find("quick_start_.._x"), std::string::npos) << a->name();
}

TEST(RunFolderTest, NameOutsideTheRootIsRefused) {
  const TemporaryFolder root;
  for (const char* name : {"../x", "a/b", ".hidden", "a b", "ü"}) {
    const auto run = RunFolder::create(root.path(), name, "c");
    ASSERT_FALSE(run.has_value()) << name;
    EXPECT_EQ(run.error().code, ErrorCode::invalid_argument);
  }
}

TEST(RunFolderTest, SecondRunOfTheSameNameIsRefused) {
  const TemporaryFolder root;
  const auto first = RunFolder::create(root.path(), "one", "c");
  const auto second = RunFolder::create(root.path(), "one", "c");
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::already_exists);
}

TEST(RunFolderTest, FolderWithoutARunIsNotOpened) {
  const TemporaryFolder root;
  const auto run = RunFolder::open(root.path());
  ASSERT_FALSE(run.has_value());
  EXPECT_EQ(run.error().code, ErrorCode::not_found);
}

TEST(RunFolderTest, SecondHolderGetsTheOwnersProcessId) {
  const TemporaryFolder root;
  const auto first = RunFolder::create(root.path(), "one", "c");
  ASSERT_TRUE(first.has_value());
  make_database_file(first->paths());
  const auto second = RunFolder::open(first->paths().folder);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::locked);
  const std::string owner = "in use by process " + std::to_string(::getpid());
  EXPECT_NE(second.error().message.find(owner), std::string::npos) << second.error().message;
  EXPECT_EQ(owner_of(first->paths()), ::getpid());
}

TEST(RunFolderTest, LockEndsWithItsHolder) {
  const TemporaryFolder root;
  RunPaths paths;
  {
    const auto first = RunFolder::create(root.path(), "one", "c");
    ASSERT_TRUE(first.has_value());
    paths = first->paths();
    make_database_file(paths);
  }
  EXPECT_EQ(owner_of(paths), std::nullopt);
  EXPECT_TRUE(RunFolder::open(paths.folder).has_value());
}

TEST(RunFolderTest, LockOfAKilledProcessIsFree) {
  const TemporaryFolder root;
  const RunPaths paths{root.path() / "one"};
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto run = RunFolder::create(root.path(), "one", "c");
    const char byte = run ? '1' : '0';
    (void)!::write(ready[1], &byte, 1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, '1');
  EXPECT_EQ(owner_of(paths), child);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(owner_of(paths), std::nullopt);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(RunFolderTest, ChangedConfigurationKeepsTheEarlierOne) {
  const TemporaryFolder root;
  const auto run = RunFolder::create(root.path(), "one", "c");
  ASSERT_TRUE(run.has_value());
  for (const char* text : {"a = 1\n", "a = 1\n", "a = 2\n", "a = 3\n"}) {
    ASSERT_TRUE(run->write_config(text).has_value());
  }
  EXPECT_EQ(read_text_file(run->paths().config(), 99).value(), "a = 3\n");
  EXPECT_EQ(read_text_file(run->paths().folder / "config.1.toml", 99).value(), "a = 1\n");
  EXPECT_EQ(read_text_file(run->paths().folder / "config.2.toml", 99).value(), "a = 2\n");
}

TEST(RunFolderTest, UnfinishedFilesOfAKilledProcessAreRemoved) {
  const TemporaryFolder root;
  const RunPaths paths{root.path() / "one"};
  {
    ASSERT_TRUE(RunFolder::create(root.path(), "one", "c").has_value());
  }
  make_database_file(paths);
  const fs::path left = paths.folder / (std::string(owned_folder_prefix) + "abc");
  fs::create_directory(left);
  std::ofstream{left / "unfinished"} << "half";
  std::ofstream{paths.folder / "notes.tmp"} << "the user's";
  ASSERT_TRUE(RunFolder::open(paths.folder).has_value());
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(paths.folder / "notes.tmp"));
}

TEST(RunFolderTest, ListNamesOnlyFoldersWithARun) {
  const TemporaryFolder root;
  const auto b = RunFolder::create(root.path(), "b", "c");
  const auto a = RunFolder::create(root.path(), "a", "c");
  fs::create_directory(root.path() / "other");
  ASSERT_TRUE(a && b);
  make_database_file(a->paths());
  make_database_file(b->paths());
  const auto runs = list_run_folders(root.path());
  ASSERT_TRUE(runs.has_value());
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ(runs->at(0).folder.filename(), "a");
  EXPECT_TRUE(list_run_folders(root.path() / "none")->empty());
}

TEST(RunStatusTest, TheStateIsThatOfTheNewestStart) {
  const TemporaryFolder root;
  RunPaths paths{root.path() / "one"};
  {
    auto run = RunFolder::create(root.path(), "one", "c");
    ASSERT_TRUE(run.has_value());
    ASSERT_TRUE(run->write_config("[run]"));
    EXPECT_EQ(status_of(paths).state, RunState::running);
  }
  EXPECT_EQ(status_of(paths).state, RunState::failed) << "no end was set";
  for (const RunState end : {RunState::interrupted, RunState::finished}) {
    {
      auto run = RunFolder::open(paths.folder, "config.toml");
      ASSERT_TRUE(run.has_value());
      run->end_as(end);
      RunFolder moved = std::move(*run);
      EXPECT_EQ(status_of(paths).state, RunState::running);
    }
    EXPECT_EQ(status_of(paths).state, end);
    EXPECT_EQ(status_of(paths).started.size(), 24U);
  }
}

TEST(RunStatusTest, ARunWhoseProcessEndedAtOnceIsKilled) {
  const TemporaryFolder root;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto run = RunFolder::create(root.path(), "one", "c");
    ::_exit(run && run->begin() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(status_of({root.path() / "one"}).state, RunState::killed);
}

TEST(RunStatusTest, ARefusedResumeLeavesTheState) {
  const TemporaryFolder root;
  const RunPaths paths{root.path() / "one"};
  {
    auto run = RunFolder::create(root.path(), "one", "c");
    ASSERT_TRUE(run && run->write_config("[run]"));
    run->end_as(RunState::finished);
  }
  const RunStatus before = status_of(paths);
  {
    ASSERT_TRUE(RunFolder::open(paths.folder, "config.toml").has_value());
  }
  EXPECT_EQ(status_of(paths).state, RunState::finished);
  EXPECT_EQ(status_of(paths).started, before.started);
}

TEST(RunStatusTest, ARunOfAnEarlierVersionIsStopped) {
  const TemporaryFolder root;
  std::filesystem::create_directory(root.path() / "one");
  std::ofstream{root.path() / "one" / "lock"} << "4711\n";
  const RunStatus status = status_of({root.path() / "one"});
  EXPECT_EQ(status.state, RunState::stopped);
  EXPECT_EQ(status.started.size(), 24U) << "when its lock was written";
}

}  // namespace
}  // namespace warpsmith
