// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/run_database.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "runtime/run/run_database.hpp"
#include "runtime/run/run_queries.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith {
namespace {

using test_support::TemporaryFolder;

Task sample_task(const std::string& id = "softmax_rows") {
  return {
      .id = id, .source = "file", .code = "class Model", .content_hash = "h", .ops = {"softmax"}};
}

RunDatabase open_db(const std::filesystem::path& path) {
  auto db = RunDatabase::open(path);
  if (!db) throw std::runtime_error(db.error().message);
  return std::move(*db);
}

class RunDatabaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(db_.begin_incarnation(0).value(), 1U);
    ASSERT_TRUE(db_.put_task(sample_task()).has_value());
  }
  void admit(TrajectoryId first, TrajectoryId last) {
    for (TrajectoryId id = first; id <= last; ++id) {
      ASSERT_TRUE(db_.put_admission(id, sample_task(), {1, 0}).has_value());
    }
  }
  void close(TrajectoryId id, double reward, const std::string& source = "s") {
    Outcome outcome{.reward = reward,
                    .verdict = reward > 0 ? VerdictClass::passed : VerdictClass::wrong};
    outcome.source_hash = source;
    outcome.tool_calls = static_cast<uint32_t>(id);
    outcome.speedup_eager = reward;
    ASSERT_TRUE(db_.put_outcome(id, outcome).has_value());
  }

  TemporaryFolder folder_;
  RunDatabase db_ = open_db(folder_.path() / "run.db");
};

TEST_F(RunDatabaseTest, TaskIsReadBackAsItWasStored) {
  const auto task = stored_task(db_, "softmax_rows", "h");
  ASSERT_TRUE(task.has_value()) << task.error().message;
  EXPECT_EQ(task->code, "class Model");
  EXPECT_EQ(task->ops, sample_task().ops);
  EXPECT_EQ(stored_task(db_, "softmax_rows", "other").error().code, ErrorCode::not_found);
}

TEST_F(RunDatabaseTest, TrajectoryIsReadBackInEachPhase) {
  admit(1, 3);
  close(1, 2.0);
  ASSERT_TRUE(db_.put_step({{1, 4}, {1}, {{"loss", 0.5}}}).has_value());
  ASSERT_TRUE(db_.put_drop(2, DropReason::stale, "all tokens older than 4").has_value());
  const auto rows = trajectory_rows(db_, 1, 10);
  ASSERT_TRUE(rows.has_value()) << rows.error().message;
  ASSERT_EQ(rows->size(), 3U);
  EXPECT_EQ(rows->at(0).trained_step, 4U);
  EXPECT_EQ(rows->at(0).outcome->reward, 2.0);
  EXPECT_EQ(rows->at(0).outcome->verdict, VerdictClass::passed);
  EXPECT_EQ(rows->at(0).outcome->speedup_eager, 2.0);
  EXPECT_EQ(rows->at(0).outcome->speedup_compile, std::nullopt);
  EXPECT_EQ(rows->at(1).drop_reason, DropReason::stale);
  EXPECT_EQ(rows->at(1).drop_detail, "all tokens older than 4");
  EXPECT_FALSE(rows->at(2).outcome.has_value());
  EXPECT_EQ(rows->at(2).admitted_at, (PolicyVersion{1, 0}));
}

TEST_F(RunDatabaseTest, ASummarySaysWhyTheNewestDropHappenedAndWhetherTheRunLearns) {
  admit(1, 3);
  ASSERT_TRUE(db_.put_drop(1, DropReason::no_answer, "no solution for a"));
  ASSERT_TRUE(db_.put_drop(3, DropReason::no_answer, "no solution for b"));
  ASSERT_TRUE(db_.put_drop(2, DropReason::stale, "old"));
  EXPECT_EQ(
      summarize(db_)->dropped_why,
      (std::map<std::string, std::string>{{"no_answer", "no solution for b"}, {"stale", "old"}}));
  EXPECT_TRUE(summarize(db_)->learns) << "a run whose start was not recorded";
  ASSERT_TRUE(db_.set_learns(false));
  EXPECT_FALSE(summarize(db_)->learns);
  ASSERT_TRUE(db_.set_learns(true));
  EXPECT_TRUE(summarize(db_)->learns);
}

TEST_F(RunDatabaseTest, VerdictIsStoredByName) {
  admit(1, 1);
  ASSERT_TRUE(db_.put_outcome(1, Outcome{}).has_value());
  const auto stored = "SELECT count(*) FROM trajectories WHERE verdict = 'no_submission'";
  EXPECT_EQ(db_.connection().integer(stored).value(), 1);
  EXPECT_EQ(trajectory_row(db_, 1)->outcome->verdict, std::nullopt);
  ASSERT_TRUE(db_.connection().execute("UPDATE trajectories SET verdict = 'fine'").has_value());
  EXPECT_EQ(trajectory_row(db_, 1).error().code, ErrorCode::corrupt);
}

TEST_F(RunDatabaseTest, PhaseFollowsTheDurableStep) {
  admit(1, 2);
  close(1, 1);
  close(2, 1);
  ASSERT_TRUE(db_.put_step({{1, 1}, {1}, {}}).has_value());
  ASSERT_TRUE(db_.put_step({{1, 2}, {2}, {}}).has_value());
  EXPECT_EQ(summarize(db_)->stepped, 2U);
  ASSERT_TRUE(db_.set_durable_step(1).has_value());
  const auto summary = summarize(db_);
  EXPECT_EQ(summary->trained, 1U);
  EXPECT_EQ(summary->stepped, 1U);
  EXPECT_TRUE(summary->is_conserved());
}

TEST_F(RunDatabaseTest, NewIncarnationRollsBackLaterSteps) {
  admit(1, 2);
  close(1, 1);
  close(2, 1);
  ASSERT_TRUE(db_.put_step({{1, 1}, {1}, {}}).has_value());
  ASSERT_TRUE(db_.put_step({{1, 2}, {2}, {}}).has_value());
  EXPECT_EQ(db_.begin_incarnation(1).value(), 2U);
  EXPECT_EQ(last_step_of(db_).value(), 1U);
  EXPECT_EQ(db_.connection().integer("SELECT sum(rolled_back) FROM steps").value(), 1);
  EXPECT_EQ(summarize(db_)->closed, 1U);
  EXPECT_TRUE(db_.put_step({{2, 2}, {2}, {}}).has_value());
}

TEST_F(RunDatabaseTest, TrainingTwiceInOneLineageIsRefusedByTheDatabase) {
  admit(1, 1);
  close(1, 1);
  ASSERT_TRUE(db_.put_step({{1, 1}, {1}, {}}).has_value());
  EXPECT_FALSE(db_.put_step({{1, 2}, {1}, {}}).has_value());
}

TEST_F(RunDatabaseTest, DropAndTrainingExcludeEachOther) {
  admit(1, 1);
  close(1, 1);
  ASSERT_TRUE(db_.put_step({{1, 1}, {1}, {}}).has_value());
  EXPECT_FALSE(db_.put_drop(1, DropReason::stale, "").has_value());
}

TEST_F(RunDatabaseTest, UnknownTrajectoryIsNamed) {
  const auto closed = db_.put_outcome(77, Outcome{});
  ASSERT_FALSE(closed.has_value());
  EXPECT_EQ(closed.error().code, ErrorCode::not_found);
  EXPECT_NE(closed.error().message.find("77"), std::string::npos);
}

TEST_F(RunDatabaseTest, SegmentsAreIndexed) {
  admit(1, 1);
  const SegmentRow row{1, 0, {2, 24, 100, UINT64_MAX - 5}, 30, 10};
  ASSERT_TRUE(db_.put_segment(row).has_value());
  const auto rows = segment_rows(db_, 1);
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->at(0).place, row.place);
  EXPECT_EQ(trajectory_row(db_, 1)->tokens, 30U);
  EXPECT_EQ(indexed_end(db_)->end, 24U + 16U + 100U);
}

TEST_F(RunDatabaseTest, SummaryComparesFirstAndLastByAdmission) {
  admit(1, 10);
  for (TrajectoryId id = 1; id <= 9; ++id)
    close(id, static_cast<double>(id) - 5, std::to_string(id));
  ASSERT_TRUE(db_.set_wall_seconds(1, 12.5).has_value());
  const auto summary = summarize(db_, 4);
  ASSERT_TRUE(summary.has_value()) << summary.error().message;
  EXPECT_DOUBLE_EQ(summary->reward_first.value(), -2.5);  // −4 … −1
  EXPECT_DOUBLE_EQ(summary->reward_last.value(), 2.5);    // 1 … 4
  EXPECT_DOUBLE_EQ(summary->pass_rate_last.value(), 1.0);
  EXPECT_DOUBLE_EQ(summary->fast_eager_last.value(), 0.75);  // a speed-up of 1 is none
  EXPECT_DOUBLE_EQ(summary->fast_compile_last.value(), 0.0);
  EXPECT_EQ(summary->distinct_sources_last, 4U);
  EXPECT_DOUBLE_EQ(summary->median_tool_calls_last.value(), 7.5);
  EXPECT_EQ(summary->admitted, 10U);
  EXPECT_EQ(summary->in_flight, 10U);
  EXPECT_DOUBLE_EQ(summary->wall_s, 12.5);
  EXPECT_TRUE(summary->is_conserved());
}

TEST_F(RunDatabaseTest, CurveFollowsTheOrderOfAdmission) {
  admit(1, 10);
  for (TrajectoryId id = 1; id <= 9; ++id) {
    const auto size = static_cast<double>(id);
    close(id, id > 5 ? size : -size);
  }
  const auto curve = learning_curve(db_, 3);
  ASSERT_TRUE(curve) << curve.error().message;
  ASSERT_EQ(curve->size(), 3U);
  EXPECT_EQ((*curve)[0].reward, -2.0);
  EXPECT_EQ((*curve)[0].passed, 0.0);
  EXPECT_EQ((*curve)[2].reward, 8.0);
  EXPECT_EQ((*curve)[2].passed, 1.0);
  EXPECT_EQ(learning_curve(db_, 48)->size(), 9U);
}

TEST_F(RunDatabaseTest, EmptyRunHasNoMeans) {
  const auto summary = summarize(db_);
  EXPECT_EQ(summary->reward_first, std::nullopt);
  EXPECT_EQ(summary->median_tool_calls_last, std::nullopt);
}

TEST_F(RunDatabaseTest, MetricsThatAreNotFiniteAreNull) {
  ASSERT_TRUE(db_.put_step({{1, 1}, {}, {{"a", 1.5}, {"b", NAN}, {"c", INFINITY}}}).has_value());
  const auto metric = [&](const std::string& name) {
    return "SELECT count(metrics ->> '" + name + "') FROM steps";
  };
  EXPECT_EQ(db_.connection().integer(metric("a")).value(), 1);
  EXPECT_EQ(db_.connection().integer(metric("b")).value(), 0);
  EXPECT_EQ(db_.connection().integer(metric("c")).value(), 0);
}

TEST_F(RunDatabaseTest, VerdictsAndEventsAreReadBack) {
  Verdict verdict;
  verdict.outcome = VerdictClass::passed;
  verdict.shapes.push_back({.shape = "4x4", .candidate_ms = 0.25});
  verdict.evidence = "{}";
  ASSERT_TRUE(db_.put_verdict({1, 3, true, verdict}).has_value());
  const auto rows = verdict_rows(db_, 1);
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_TRUE(rows->at(0).final);
  EXPECT_EQ(rows->at(0).verdict.shapes.at(0).candidate_ms, 0.25);
  ASSERT_TRUE(db_.put_event("restart", "sandbox-0", "killed by signal 9").has_value());
  ASSERT_TRUE(db_.put_event("stop", "supervisor", "Ctrl-C").has_value());
  const auto events = recent_events(db_, 5);
  ASSERT_EQ(events->size(), 2U);
  EXPECT_EQ(events->back().kind, "stop");
}

TEST_F(RunDatabaseTest, RolledBackTransactionLeavesNothing) {
  ASSERT_TRUE(db_.begin().has_value());
  admit(1, 5);
  db_.rollback();
  EXPECT_EQ(summarize(db_)->admitted, 0U);
}

TEST_F(RunDatabaseTest, ReaderInAnotherConnectionSeesWhatIsCommitted) {
  admit(1, 2);
  ASSERT_TRUE(db_.begin().has_value());
  admit(3, 4);
  auto reader = RunDatabase::open(folder_.path() / "run.db", SqlAccess::read_only);
  ASSERT_TRUE(reader.has_value()) << reader.error().message;
  EXPECT_EQ(summarize(*reader)->admitted, 2U);
  EXPECT_FALSE(reader->put_event("a", "b", "c").has_value());
}

TEST_F(RunDatabaseTest, SecondWriterFailsAfterItsBusyTimeOut) {
  ASSERT_TRUE(db_.begin().has_value());
  auto other = RunDatabase::open(folder_.path() / "run.db", SqlAccess::read_write,
                                 std::chrono::milliseconds{10});
  ASSERT_TRUE(other.has_value()) << other.error().message;
  const auto refused = other->begin();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::locked);
}

TEST(RunSchemaTest, OtherVersionsAndOtherFilesAreRefusedByName) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "run.db";
  {
    RunDatabase db = open_db(path);
    ASSERT_TRUE(db.connection().execute("PRAGMA user_version = 7").has_value());
  }
  const auto newer = RunDatabase::open(path);
  ASSERT_FALSE(newer.has_value());
  EXPECT_EQ(newer.error().code, ErrorCode::unsupported);
  EXPECT_NE(newer.error().message.find("version 7"), std::string::npos);

  const auto foreign = folder.path() / "foreign.db";
  auto sql = SqlConnection::open(foreign, SqlAccess::read_write, std::chrono::milliseconds{10});
  ASSERT_TRUE(sql->execute("CREATE TABLE t (a)").has_value());
  EXPECT_EQ(RunDatabase::open(foreign).error().code, ErrorCode::corrupt);

  std::ofstream{folder.path() / "text.db"} << std::string(5000, 'x');
  EXPECT_EQ(RunDatabase::open(folder.path() / "text.db").error().code, ErrorCode::corrupt);

  const auto missing = RunDatabase::open(folder.path() / "none.db", SqlAccess::read_only);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace warpsmith
