// SPDX-License-Identifier: Apache-2.0
// The ledger actor's flushes, admissions and messages to the learner.
#include "actors/ledger/ledger.hpp"

#include <sys/resource.h>

#include <csignal>

#include "runtime/run/run_queries.hpp"
#include "tests/actors/ledger/ledger_support.hpp"
#include "tests/support/actor_test.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::actors {
namespace {

using std::chrono::milliseconds;
using test_support::must;
using warpsmith::test_support::TemporaryFolder;

LearnerActor::behavior_type counting_learner(LearnerActor::pointer /*self*/, uint64_t* segments) {
  return {[](atom::status) { return ActorStatus{}; },
          [segments](const Segment&) { ++*segments; },
          [](const Closed&) {},
          [](const Dropped&) {},
          [](atom::flush) { return true; },
          [](atom::checkpoint) { return std::string{}; }};
}

class LedgerTest : public ActorTest {
 protected:
  std::shared_ptr<LedgerSource> open(SteadyClock::time_point begun) {
    LedgerStoreOptions options;
    options.durability = Durability::on_flush;
    auto store = test_support::open_store(paths_, options);
    auto resumption = must(store.begin(0));
    return std::make_shared<LedgerSource>(
        LedgerSource{std::move(store), std::move(resumption), begun});
  }
  LedgerActor spawn(milliseconds group_commit, SteadyClock::time_point begun) {
    source_ = open(begun);
    LedgerSettings settings;
    settings.group_commit = group_commit;
    settings.unlimited = true;
    actor_ = sys.spawn(ledger, identity("ledger-0"), source_, settings);
    return actor_;
  }
  void TearDown() override {
    self->send_exit(actor_, caf::exit_reason::user_shutdown);
    deliver_all();
  }
  uint64_t durable_trajectories() {
    auto db = must(RunDatabase::open(paths_.database(), SqlAccess::read_only));
    return must(summarize(db)).admitted;
  }

  TemporaryFolder folder_ = TemporaryFolder::in_memory();
  RunPaths paths_ = test_support::run_paths(folder_.path());
  std::shared_ptr<LedgerSource> source_;
  LedgerActor actor_;
};

/// While this object exists, no file can grow.
class FullDisk {
 public:
  FullDisk() {
    (void)std::signal(SIGXFSZ, SIG_IGN);
    (void)::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{0, before_.rlim_max};
    (void)::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() { (void)::setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

TEST_F(LedgerTest, AnOrphanIsGrantedAgainIfItsGrantWasNotRecorded) {
  const Task task = test_support::sample_task();
  {
    auto store = test_support::open_store(paths_, {});
    must(store.begin(0));
    must(store.admit(task, {1, 0}));
  }
  spawn(milliseconds{0}, SteadyClock::now());
  const auto granted = [&](bool expected) {
    TrajectoryId id = 0;
    auto asked = self->request(actor_, std::chrono::seconds{1}, atom::admit_v, task);
    auto other = self->request(actor_, std::chrono::seconds{1}, atom::admit_v, task);
    deliver_all();
    asked.receive([&](const Admission& admission) { id = admission.trajectory; },
                  [&](const caf::error&) { EXPECT_FALSE(expected); });
    other.receive([](const Admission&) {}, [&](const caf::error&) { EXPECT_FALSE(expected); });
    return id;
  };
  {
    const FullDisk full;
    EXPECT_EQ(granted(false), 0U);
  }
  EXPECT_EQ(granted(true), 1U);
}

TEST_F(LedgerTest, RequestsWithinTheGroupCommitShareOneFlush) {
  spawn(milliseconds{5}, SteadyClock::now());
  const Task task = test_support::sample_task();
  auto first = self->request(actor_, std::chrono::seconds{1}, atom::admit_v, task);
  deliver_all();
  advance(milliseconds{3});
  auto second = self->request(actor_, std::chrono::seconds{1}, atom::admit_v, task);
  deliver_all();
  EXPECT_EQ(durable_trajectories(), 0U);
  advance(milliseconds{2});
  EXPECT_EQ(durable_trajectories(), 2U);
  int granted = 0;
  for (auto* asked : {&first, &second}) {
    asked->receive([&](const Admission& admission) { granted += admission.granted ? 1 : 0; },
                   [](const caf::error&) { FAIL() << "no admission"; });
  }
  EXPECT_EQ(granted, 2);
}

TEST_F(LedgerTest, AdmitsOnlyTheTrajectoriesOfAnEvaluationAndNoneWithoutATask) {
  spawn(milliseconds{0}, SteadyClock::now());
  self->send(actor_, atom::drain_v, uint64_t{1});
  deliver_all();
  EXPECT_FALSE(ask<Admission>(actor_, atom::admit_v, Task{})->granted);
  EXPECT_TRUE(ask<Admission>(actor_, atom::admit_v, test_support::sample_task())->granted);
  EXPECT_FALSE(ask<Admission>(actor_, atom::admit_v, test_support::sample_task())->granted);
}

TEST_F(LedgerTest, WithoutAGroupCommitTheFlushFollowsTheQueuedMessages) {
  spawn(milliseconds{0}, SteadyClock::now());
  const auto admission = ask<Admission>(actor_, atom::admit_v, test_support::sample_task());
  ASSERT_TRUE(admission.has_value()) << admission.error().message;
  EXPECT_EQ(durable_trajectories(), 1U);
}

TEST_F(LedgerTest, LearnerGetsASegmentOnceItIsDurable) {
  spawn(milliseconds{5}, SteadyClock::now());
  uint64_t heard = 0;
  const LearnerActor learner = sys.spawn(counting_learner, &heard);
  self->send(actor_, atom::redeliver_v, learner);
  auto admitted =
      self->request(actor_, std::chrono::seconds{1}, atom::admit_v, test_support::sample_task());
  deliver_all();
  advance(milliseconds{5});
  TrajectoryId id = 0;
  admitted.receive([&](const Admission& admission) { id = admission.trajectory; },
                   [](const caf::error&) { FAIL() << "no admission"; });
  self->send(actor_, test_support::sample_segment(id, 0));
  deliver_all();
  EXPECT_EQ(heard, 0U);
  advance(milliseconds{5});
  EXPECT_EQ(heard, 1U);
  self->send_exit(learner, caf::exit_reason::user_shutdown);
}

TEST_F(LedgerTest, ATrajectoryIsOpenUntilItsEndIsSentToTheLearner) {
  spawn(milliseconds{5}, SteadyClock::now());
  uint64_t heard = 0;
  const LearnerActor learner = sys.spawn(counting_learner, &heard);
  self->send(actor_, atom::redeliver_v, learner);
  self->send(actor_, atom::admit_v, test_support::sample_task());
  self->send(actor_, test_support::sample_segment(1, 0));
  deliver_all();
  advance(milliseconds{5});
  const auto open_and_closed = [&] {
    const auto counts = ask<LedgerCounts>(actor_, atom::counts_v);
    return counts ? std::pair{counts->open, counts->closed} : std::pair{uint64_t{9}, uint64_t{9}};
  };
  self->send(actor_, Closed{1, test_support::sample_outcome(1)});
  deliver_all();
  EXPECT_EQ(open_and_closed(), std::pair(uint64_t{1}, uint64_t{0}));
  advance(milliseconds{5});
  EXPECT_EQ(open_and_closed(), std::pair(uint64_t{0}, uint64_t{1}));
  self->send_exit(learner, caf::exit_reason::user_shutdown);
}

TEST_F(LedgerTest, TrajectoriesOfADeadRolloutResumeAtTheNextRolloutThatAsks) {
  spawn(milliseconds{0}, SteadyClock::now());
  const Task task = test_support::sample_task();
  TrajectoryId id = 0;
  {
    caf::scoped_actor rollout{sys, true};
    auto asked = rollout->request(actor_, std::chrono::seconds{1}, atom::admit_v, task);
    deliver_all();
    asked.receive([&](const Admission& admission) { id = admission.trajectory; },
                  [](const caf::error&) { FAIL() << "no admission"; });
    rollout->send(actor_, test_support::sample_segment(id, 0));
    Verdict verdict{.outcome = VerdictClass::passed, .submission_hash = std::string(64, 'b')};
    rollout->send(actor_, Judged{id, 0, false, verdict});
    deliver_all();
  }
  deliver_all();
  const auto again = ask<Admission>(actor_, atom::admit_v, task);
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->trajectory, id);
  EXPECT_TRUE(again->resumed);
  EXPECT_EQ(again->segments.size(), 1U);
  EXPECT_EQ(again->best.hash, std::string(64, 'b'));
}

TEST_F(LedgerTest, SynchronousModeAdmitsNothingWhileAStepIsDue) {
  source_ = open(SteadyClock::now());
  LedgerSettings settings;
  settings.limits.max_lag = 0;
  settings.expected_per_step = 2;
  actor_ = sys.spawn(ledger, identity("ledger-0"), source_, settings);
  const Task task = test_support::sample_task();
  for (int i = 0; i < 2; ++i) {
    const auto admitted = ask<Admission>(actor_, atom::admit_v, task);
    ASSERT_TRUE(admitted.has_value());
    Closed closed{admitted->trajectory, test_support::sample_outcome(1)};
    ASSERT_TRUE(ask<uint32_t>(actor_, test_support::sample_segment(admitted->trajectory, 0)));
    ASSERT_TRUE(ask<bool>(actor_, closed));
  }
  auto third = self->request(actor_, std::chrono::seconds{9}, atom::admit_v, task);
  deliver_all();
  EXPECT_EQ(source_->store.counts().admitted, 2U);
  ASSERT_TRUE(ask<bool>(actor_, StepDone{{1, 1}, {1, 2}, {}}));
  EXPECT_EQ(source_->store.counts().admitted, 3U);
  third.receive([](const Admission& admission) { EXPECT_EQ(admission.version.step, 1U); },
                [](const caf::error&) { FAIL() << "no admission"; });
}

TEST_F(LedgerTest, RunningTimeOfEveryIncarnationIsRecorded) {
  const auto before = SteadyClock::now();
  for (const int seconds : {100, 40}) {
    spawn(milliseconds{0}, before - std::chrono::seconds{seconds});
    ASSERT_TRUE(ask<LedgerCounts>(actor_, atom::counts_v).has_value());
    self->send_exit(actor_, caf::exit_reason::user_shutdown);
    deliver_all();
    source_.reset();
  }
  auto db = must(RunDatabase::open(paths_.database(), SqlAccess::read_only));
  const double wall_s = must(summarize(db)).wall_s;
  EXPECT_GE(wall_s, 140.0);
  EXPECT_LT(wall_s, 200.0);
}

}  // namespace
}  // namespace warpsmith::actors
