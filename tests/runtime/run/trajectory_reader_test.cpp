// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/trajectory_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/codec.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith {
namespace {

Segment segment_of(TrajectoryId id, uint32_t number) {
  const auto token = static_cast<int32_t>(id * 10 + number);
  return {id, number, {token, token + 1}, {0, 1}, {0, -1}, {{}, {1, 2}}};
}

/// A run that is being written.
class TrajectoryReaderTest : public ::testing::Test {
 protected:
  TrajectoryReaderTest() {
    std::filesystem::create_directories(paths_.segments());
    db_.emplace(std::move(RunDatabase::open(paths_.database()).value()));
    log_.emplace(std::move(SegmentLog::open(paths_.segments()).value()));
    EXPECT_TRUE(db_->begin_incarnation(0));
  }
  void record(TrajectoryId id, uint32_t segments) {
    const Task task{.id = "t", .code = "c", .content_hash = "h"};
    ASSERT_TRUE(db_->put_task(task));
    ASSERT_TRUE(db_->put_admission(id, task, {1, 0}));
    for (uint32_t n = 0; n < segments; ++n) {
      const ByteBuffer bytes = codec::pack(segment_of(id, n));
      const auto place = log_->append({bytes.data(), bytes.size()});
      ASSERT_TRUE(place);
      ASSERT_TRUE(db_->put_segment({id, n, *place, 2, 1}));
    }
  }
  TrajectoryReader reader() const { return std::move(TrajectoryReader::open(paths_).value()); }

  test_support::TemporaryFolder folder_;
  RunPaths paths_{folder_.path()};
  std::optional<RunDatabase> db_;
  std::optional<SegmentLog> log_;
};

TEST_F(TrajectoryReaderTest, ReadsARunThatAnotherConnectionWrites) {
  record(1, 2);
  record(2, 1);
  ASSERT_TRUE(db_->put_outcome(1, {.reward = 2, .turns = 2}));
  TrajectoryReader reading = reader();
  const auto closed = reading.closed();
  ASSERT_TRUE(closed) << closed.error().message;
  ASSERT_EQ(closed->size(), 1U) << "the open one is left out";
  EXPECT_EQ(closed->front().outcome->reward, 2);
  const auto whole = reading.load(1);
  ASSERT_TRUE(whole) << whole.error().message;
  ASSERT_EQ(whole->segments.size(), 2U);
  EXPECT_EQ(whole->segments[1].tokens, segment_of(1, 1).tokens);
  EXPECT_EQ(whole->outcome.reward, 2);

  ASSERT_TRUE(db_->put_outcome(2, {.reward = -1, .turns = 1}));
  EXPECT_EQ(reading.closed()->size(), 2U) << "later ones are seen too";
}

TEST_F(TrajectoryReaderTest, VerdictsComeInOrder) {
  record(1, 1);
  Verdict verdict;
  ASSERT_TRUE(db_->put_verdict({1, 0, false, verdict}));
  verdict.outcome = VerdictClass::passed;
  ASSERT_TRUE(db_->put_verdict({1, 0, true, verdict}));
  const auto verdicts = reader().verdicts(1);
  ASSERT_TRUE(verdicts);
  ASSERT_EQ(verdicts->size(), 2U);
  EXPECT_FALSE((*verdicts)[0].final);
  EXPECT_TRUE((*verdicts)[1].verdict.correct());
}

TEST_F(TrajectoryReaderTest, DamageNamesTheRun) {
  record(1, 1);
  std::filesystem::resize_file(segment_file_path(paths_.segments(), 1), 12);
  const auto whole = reader().load(1);
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().code, ErrorCode::corrupt);
  EXPECT_THAT(whole.error().message, testing::HasSubstr(folder_.path().string()));
}

TEST_F(TrajectoryReaderTest, ARunWithoutADatabaseIsNamed) {
  const auto opened = TrajectoryReader::open({folder_.path() / "none"});
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, testing::HasSubstr("none: no run with trajectories"));
}

TEST_F(TrajectoryReaderTest, MetricsAreThoseOfTheSurvivingSteps) {
  ASSERT_TRUE(db_->put_step({{1, 1}, {}, {{"entropy", 0.5}}}));
  ASSERT_TRUE(db_->put_step({{1, 2}, {}, {{"entropy", 0.4}}}));
  ASSERT_TRUE(db_->begin_incarnation(1));
  ASSERT_TRUE(db_->put_step({{2, 2}, {}, {{"entropy", 0.3}}}));
  const auto metrics = step_metrics(*db_);
  ASSERT_TRUE(metrics) << metrics.error().message;
  ASSERT_EQ(metrics->size(), 2U);
  EXPECT_EQ(metrics->back().at("entropy"), 0.3);
}

}  // namespace
}  // namespace warpsmith
