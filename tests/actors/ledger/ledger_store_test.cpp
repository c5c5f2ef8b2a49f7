// SPDX-License-Identifier: Apache-2.0
#include "actors/ledger/ledger_store.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <limits>

#include "runtime/run/run_queries.hpp"
#include "tests/actors/ledger/ledger_support.hpp"
#include "tests/support/rapidcheck_seed.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::actors {
namespace {

using namespace test_support;
using warpsmith::test_support::TemporaryFolder;
using Ids = std::vector<TrajectoryId>;

class LedgerStoreTest : public ::testing::Test {
 protected:
  LedgerStore started(LedgerStoreOptions options = {}, uint32_t step = 0) {
    LedgerStore store = open_store(paths_, options);
    resumption_ = must(store.begin(step));
    return store;
  }
  static TrajectoryId closed_one(LedgerStore& store) {
    const TrajectoryId id = must(store.admit(sample_task(), {1, 0}));
    must(store.append(sample_segment(id, 0)));
    must(store.close(id, sample_outcome(id)));
    return id;
  }

  TemporaryFolder folder_;
  RunPaths paths_ = run_paths(folder_.path());
  Resumption resumption_;
};

TEST_F(LedgerStoreTest, TrajectoryIsReadBackWholeByANewProcess) {
  TrajectoryId id = 0;
  {
    LedgerStore store = started();
    id = must(store.admit(sample_task(), {1, 0}));
    for (uint32_t n = 0; n < 3; ++n) must(store.append(sample_segment(id, n)));
    must(store.close(id, sample_outcome(id)));
  }
  LedgerStore store = started();
  EXPECT_EQ(resumption_.incarnation, 2U);
  EXPECT_EQ(resumption_.closed, Ids{id});
  const auto trajectory = store.load(id);
  ASSERT_TRUE(trajectory.has_value()) << trajectory.error().message;
  ASSERT_EQ(trajectory->segments.size(), 3U);
  for (uint32_t n = 0; n < 3; ++n) {
    EXPECT_TRUE(same_segment(trajectory->segments[n], sample_segment(id, n)));
  }
  EXPECT_EQ(trajectory->outcome.reward, sample_outcome(id).reward);
  EXPECT_EQ(store.task_of(id)->code, "class Model");
}

TEST_F(LedgerStoreTest, OpenTrajectoriesResumeWithTheirSegments) {
  {
    LedgerStore store = started();
    must(store.append(sample_segment(must(store.admit(sample_task(), {1, 0})), 0)));
  }
  LedgerStore store = started();
  EXPECT_EQ(resumption_.open, Ids{1});
  EXPECT_EQ(store.load(1)->segments.size(), 1U);
  EXPECT_EQ(must(store.append(sample_segment(1, 1))), Change::made);
}

TEST_F(LedgerStoreTest, RepeatIsAcceptedOnlyWithTheSameBytes) {
  LedgerStore store = started();
  const TrajectoryId id = must(store.admit(sample_task(), {1, 0}));
  must(store.append(sample_segment(id, 0)));
  EXPECT_EQ(must(store.append(sample_segment(id, 0))), Change::already);
  Segment other = sample_segment(id, 0);
  other.tokens[0] += 1;
  const auto refused = store.append(other);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::already_exists);
}

TEST_F(LedgerStoreTest, StepWithoutACheckpointIsRolledBack) {
  {
    LedgerStore store = started();
    for (int i = 0; i < 3; ++i) (void)closed_one(store);
    must(store.mark_trained({{1, 1}, {1}, {{"loss", 1.0}}}));
    must(store.checkpointed(1));
    must(store.mark_trained({{1, 2}, {2}, {}}));
    EXPECT_EQ(store.counts().trained(), 1U);
  }
  LedgerStore store = started({}, 1);
  EXPECT_EQ(resumption_.returned, 1U);
  EXPECT_EQ(resumption_.closed, (Ids{2, 3}));
  EXPECT_EQ(store.last_step(), 1U);
  must(store.mark_trained({{2, 2}, {3, 2}, {}}));
  must(store.checkpointed(2));
  EXPECT_EQ(store.counts().trained(), 3U);
  EXPECT_TRUE(summarize(store.database())->is_conserved());
}

TEST_F(LedgerStoreTest, StepOfAnotherIncarnationIsRefused) {
  LedgerStore store = started();
  const TrajectoryId id = closed_one(store);
  const auto refused = store.mark_trained({{7, 1}, {id}, {}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "train: step 1 is of incarnation 7, the run is in 1");
}

TEST_F(LedgerStoreTest, CheckpointAheadOfTheLedgerIsRefused) {
  LedgerStore store = open_store(paths_);
  EXPECT_EQ(store.begin(3).error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(store.begin(0).has_value());
  EXPECT_FALSE(store.begin(0).has_value());
}

TEST_F(LedgerStoreTest, EveryCallBeforeBeginIsRefused) {
  LedgerStore store = open_store(paths_);
  EXPECT_FALSE(store.admit(sample_task(), {}).has_value());
}

TEST_F(LedgerStoreTest, RewardThatIsNotFiniteIsRefused) {
  LedgerStore store = started();
  const TrajectoryId id = must(store.admit(sample_task(), {1, 0}));
  Outcome outcome;
  outcome.reward = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(store.close(id, outcome).has_value());
  EXPECT_EQ(store.core().at(id).phase, TrajectoryPhase::open);
}

TEST_F(LedgerStoreTest, AGroupIsInvisibleBeforeItsFlush) {
  {
    LedgerStore store = started({.durability = Durability::on_flush});
    (void)closed_one(store);
    must(store.flush());
    (void)closed_one(store);
    EXPECT_TRUE(store.pending());
  }
  LedgerStore store = started();
  EXPECT_EQ(store.counts().admitted, 1U);
  EXPECT_TRUE(store.load(1).has_value());
}

TEST_F(LedgerStoreTest, DamagedRecordIsNamedAndTheOthersAreRead) {
  {
    LedgerStore store = started();
    (void)closed_one(store);
    (void)closed_one(store);
  }
  {
    std::fstream file{segment_file_path(paths_.segments(), 1),
                      std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(40);
    file.put('?');
  }
  LedgerStore store = started();
  EXPECT_FALSE(store.damage().empty());
  const auto first = store.load(1);
  ASSERT_FALSE(first.has_value());
  EXPECT_EQ(first.error().code, ErrorCode::corrupt);
  EXPECT_TRUE(store.load(2).has_value());
  EXPECT_EQ(closed_one(store), 3U);
  EXPECT_TRUE(store.load(3).has_value());
}

TEST_F(LedgerStoreTest, VerdictsEventsAndSecondsAreKept) {
  {
    LedgerStore store = started();
    must(store.record_verdict({1, 0, true, Verdict{.submission_hash = std::string(64, 'c')}},
                              {{"kernel.cpp", "int x;"}}));
    must(store.record_event("stop", "supervisor", "Ctrl-C"));
    must(store.record_wall_seconds(2.5));
  }
  LedgerStore store = started();
  const auto verdicts = verdict_rows(store.database(), 1);
  ASSERT_EQ(verdicts->size(), 1U);
  const SubmissionFolder kept(paths_.submissions());
  EXPECT_EQ(kept.read(verdicts->front().verdict.submission_hash).value().at("kernel.cpp"),
            "int x;");
  EXPECT_EQ(recent_events(store.database(), 9)->size(), 1U);
  EXPECT_DOUBLE_EQ(summarize(store.database())->wall_s, 2.5);
}

/// Random requests; at random points the process "dies" with an unflushed group. The database must
/// then equal a core that got only the flushed requests.
RC_GTEST_PROP(LedgerStoreProperty, DatabaseReplayEqualsTheModelAfterAnyCrash, ()) {
  const TemporaryFolder folder = TemporaryFolder::in_memory();
  const RunPaths paths = run_paths(folder.path());
  using Move = std::pair<int, uint64_t>;
  const auto moves =
      *rc::gen::resize(60, rc::gen::container<std::vector<Move>>(rc::gen::pair(
                               rc::gen::inRange(0, 11), rc::gen::inRange<uint64_t>(0, 8))));
  const LedgerStoreOptions options{.durability = Durability::on_flush};
  auto store = std::make_unique<LedgerStore>(open_store(paths, options));
  must(store->begin(0));
  Conservation answered = store->core();
  for (const auto& [kind, argument] : moves) {
    const TrajectoryId id = 1 + argument % (store->counts().admitted + 1);
    const auto number = static_cast<uint32_t>(argument % 3);
    const uint32_t step = store->last_step() + 1;
    if (kind <= 1) must(store->admit(sample_task(), {store->incarnation(), 0}));
    if (kind == 2 || kind == 3) (void)store->append(sample_segment(id, number));
    if (kind == 4 || kind == 5) (void)store->close(id, sample_outcome(id));
    if (kind == 6) (void)store->drop(id, DropReason::stale, "");
    if (kind == 7) (void)store->mark_trained({{store->incarnation(), step}, {id}, {}});
    if (kind == 8) (void)store->checkpointed(step - 1);
    if (kind == 9) {
      must(store->flush());
      answered = store->core();
    }
    if (kind == 10) {
      store.reset();
      store = std::make_unique<LedgerStore>(open_store(paths, options));
      RC_ASSERT(store->counts() == answered.counts());
      for (TrajectoryId each = 1; each <= answered.counts().admitted; ++each) {
        RC_ASSERT(store->core().at(each) == answered.at(each));
        RC_ASSERT(must(store->load(each)).segments.size() == answered.at(each).segments);
      }
      must(answered.restore(answered.durable_step()));
      must(store->begin(answered.durable_step()));
      RC_ASSERT(store->counts() == answered.counts());
    }
    RC_ASSERT(store->counts().is_conserved());
  }
}

}  // namespace
}  // namespace warpsmith::actors
