// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/run_listing.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "tests/support/temporary_folder.hpp"

namespace warpsmith {
namespace {

using test_support::TemporaryFolder;

/// Makes a run that started at `started`, and closes its database.
RunFolder make_run(const std::filesystem::path& root, const char* name, const char* started) {
  auto run = RunFolder::create(root, name, "c");
  if (!run) throw std::runtime_error(run.error().message);
  auto db = RunDatabase::open(run->paths().database());
  if (!db || !db->begin_incarnation(0)) throw std::runtime_error("no database");
  if (!db->connection().run("UPDATE incarnations SET started_at = ?", {std::string(started)})) {
    throw std::runtime_error("no update");
  }
  return std::move(*run);
}

TEST(RunListingTest, RunsAreListedByTheirStartWithOwnerAndSummary) {
  const TemporaryFolder root;
  const RunFolder late = make_run(root.path(), "a-late", "2026-02-02T00:00:00.000Z");
  {
    make_run(root.path(), "b-early", "2026-01-01T00:00:00.000Z");
  }
  const auto runs = list_runs(root.path());
  ASSERT_TRUE(runs.has_value());
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ(runs->at(0).paths.folder.filename(), "b-early");
  EXPECT_EQ(runs->at(0).owner, std::nullopt);
  EXPECT_TRUE(runs->at(1).owner.has_value());
  EXPECT_EQ(runs->at(1).summary->incarnations, 1U);
}

TEST(RunListingTest, UnreadableRunIsListedWithItsReason) {
  const TemporaryFolder root;
  const RunFolder run = make_run(root.path(), "good", "2026-02-02T00:00:00.000Z");
  std::filesystem::create_directory(root.path() / "bad");
  std::ofstream{root.path() / "bad" / "run.db"}
      << "this is not a database, but it is as long as one";
  const auto runs = list_runs(root.path());
  ASSERT_EQ(runs->size(), 2U);
  ASSERT_FALSE(runs->at(1).summary.has_value());
  EXPECT_NE(runs->at(1).summary.error().message.find("bad/run.db"), std::string::npos);
  EXPECT_EQ(find_run(root.path(), "latest")->folder.filename(), "good");
}

TEST(RunListingTest, RunIsFoundByNameByPathAndAsLatest) {
  const TemporaryFolder root;
  {
    make_run(root.path(), "one", "2026-01-01T00:00:00.000Z");
  }
  {
    make_run(root.path(), "two", "2026-01-02T00:00:00.000Z");
  }
  EXPECT_EQ(find_run(root.path(), "one")->folder.filename(), "one");
  const std::string path = (root.path() / "two").string();
  EXPECT_EQ(find_run("/nowhere", path)->folder, path);
  EXPECT_EQ(find_run("/nowhere", path + "/")->folder, path);
  EXPECT_EQ(find_run(root.path(), "latest")->folder.filename(), "two");
}

/// Sets when a run was started last, as in the file of its lock.
void set_start(const std::filesystem::path& folder, const char* started) {
  std::ofstream{folder / "lock"} << "1\n" << started << "\nrunning\n";
}

TEST(RunListingTest, LatestIsTheNewestStartWhateverItsState) {
  const TemporaryFolder root;
  {
    make_run(root.path(), "finished", "2026-01-02T00:00:00.000Z");
  }
  {
    const auto chain = RunFolder::create(root.path(), "chain", "c");
    ASSERT_TRUE(chain && chain->write_config("[run]"));
    std::filesystem::create_directory(chain->paths().folder / "stages");
  }
  set_start(root.path() / "chain", "2026-01-01T00:00:00.000Z");
  EXPECT_EQ(find_run(root.path(), "latest")->folder.filename(), "finished");
  set_start(root.path() / "chain", "2026-01-03T00:00:00.000Z");
  EXPECT_EQ(find_run(root.path(), "latest")->folder.filename(), "chain");
  const auto runs = list_runs(root.path());
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ(runs->at(1).status.state, RunState::killed);
  EXPECT_EQ(runs->at(1).status.started, "2026-01-03T00:00:00.000Z");
  EXPECT_EQ(runs->at(0).status.started, "2026-01-02T00:00:00.000Z");
}

TEST(RunListingTest, NewestEventsAreReturnedWithTheNumberOfOlderOnes) {
  const TemporaryFolder root;
  const RunFolder run = make_run(root.path(), "one", "2026-01-01T00:00:00.000Z");
  EXPECT_EQ(read_events(run.paths(), 2)->left_out, 0U);
  auto db = RunDatabase::open(run.paths().database(), SqlAccess::read_write);
  ASSERT_TRUE(db->begin());
  for (const char* text : {"first", "second", "third"}) {
    ASSERT_TRUE(db->put_event("restart", "sandbox-0", text));
  }
  ASSERT_TRUE(db->commit());
  const auto events = read_events(run.paths(), 2);
  ASSERT_TRUE(events.has_value());
  EXPECT_EQ(events->left_out, 1U);
  ASSERT_EQ(events->newest.size(), 2U);
  EXPECT_EQ(events->newest[0].text, "second");
  EXPECT_EQ(events->newest[1].text, "third");
}

TEST(RunListingTest, ARunWithoutADatabaseIsListedAndFound) {
  const TemporaryFolder root;
  const auto supervised = RunFolder::create(root.path(), "x-sft", "c");
  ASSERT_TRUE(supervised && supervised->write_config("[run]"));
  const auto runs = list_runs(root.path());
  ASSERT_EQ(runs->size(), 1U);
  EXPECT_EQ(runs->at(0).summary.error().code, ErrorCode::not_found);
  const auto found = find_run(root.path(), "x-sft");
  ASSERT_TRUE(found.has_value());
  EXPECT_NE(read_summary(*found).error().message.find("x-sft: no trajectories: a supervised run"),
            std::string::npos);
}

/// Mounts the folder read-only in this process's own name space; false if the kernel refuses.
bool mount_read_only(const std::filesystem::path& folder) {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  const char* path = folder.c_str();
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount(path, path, nullptr, MS_BIND, nullptr) == 0 &&
         ::mount(nullptr, path, nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0;
}

/// The exit code of `check` in a child that sees the folder read-only; 77 if it cannot.
int on_read_only_mount(const std::filesystem::path& folder, const std::function<int()>& check) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(mount_read_only(folder) ? check() : 77);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(RunListingTest, RunsOnAReadOnlyMountAreListedAndShown) {
  const TemporaryFolder root;
  {
    make_run(root.path(), "ended", "2026-01-01T00:00:00.000Z");
  }
  const RunFolder live = make_run(root.path(), "live", "2026-02-01T00:00:00.000Z");
  auto db = RunDatabase::open(live.paths().database());  // so that its log is not empty
  ASSERT_TRUE(db && db->put_event("restart", "generator/0", "told"));
  const auto check = [&] {
    const auto runs = list_runs(root.path());
    if (!runs || runs->size() != 2) return 1;
    const RunListing& ended = runs->at(0);
    const RunListing& running = runs->at(1);
    if (!ended.summary || ended.summary->incarnations != 1 || ended.owner) return 2;
    if (!running.summary || running.summary->incarnations != 1 || !running.owner) return 3;
    const auto events = read_events(running.paths, 5);
    return events && events->newest.size() == 1 && events->newest[0].text == "told" ? 0 : 4;
  };
  const int outcome = on_read_only_mount(root.path(), check);
  if (outcome == 77) GTEST_SKIP() << "this kernel or container allows no read-only mount";
  EXPECT_EQ(outcome, 0);
}

TEST(RunListingTest, UnknownRunErrorNamesTheKnownOnes) {
  const TemporaryFolder root;
  {
    make_run(root.path(), "one", "2026-01-01T00:00:00.000Z");
  }
  const auto run = find_run(root.path(), "ona");
  ASSERT_FALSE(run.has_value());
  EXPECT_EQ(run.error().message, "no run 'ona'; the runs in " + root.path().string() + " are: one");
  EXPECT_NE(find_run("/nowhere", "x").error().message.find("no runs in /nowhere"),
            std::string::npos);
}

}  // namespace
}  // namespace warpsmith
