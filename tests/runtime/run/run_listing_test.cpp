// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/run_listing.hpp"

#include <gtest/gtest.h>

#include <fstream>

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

TEST(RunListingTest, RunIsFoundByNameByPathAndAsTheLatest) {
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

TEST(RunListingTest, NewestEventsComeWithTheNumberOfTheOthers) {
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
