// SPDX-License-Identifier: Apache-2.0
#include "tests/actors/run/run_fixture.hpp"

namespace warpsmith::actors {
namespace {

class RunTreeTest : public RunFixture {};

TEST_F(RunTreeTest, EveryAdmittedTrajectoryIsTrainedOrDropped) {
  EXPECT_EQ(run_whole(config()), "done");
  const RunSummary after = summary();
  EXPECT_EQ(after.admitted, 24U);
  EXPECT_EQ(after.in_flight, 0U);
  EXPECT_TRUE(after.is_conserved());
  EXPECT_GE(after.last_step, 3U);
}

TEST_F(RunTreeTest, StoppedRunResumesWhereItWas) {
  const RunConfig c = config();
  {
    auto session = begin_run(c, "test", "{}");
    ASSERT_TRUE(session.has_value()) << session.error().message;
    EXPECT_EQ(run(inputs_of(c, *session), 9), "done");
  }
  EXPECT_TRUE(summary().is_conserved());
  auto session = resume_run(c, folder.path() / "run", "{}");
  ASSERT_TRUE(session.has_value()) << session.error().message;
  EXPECT_EQ(session->origin.version.incarnation, 2U);
  EXPECT_EQ(run(inputs_of(c, *session), UINT64_MAX), "done");
  session->ledger.reset();
  const RunSummary after = summary();
  EXPECT_EQ(after.admitted, 24U);
  EXPECT_EQ(after.trained + after.dropped_total(), 24U);
  EXPECT_FALSE(after.dropped.contains("infrastructure"));  // open trajectories resumed
  EXPECT_TRUE(after.is_conserved());
}

TEST_F(RunTreeTest, AdaptersOnTwoRanksResumeOnOne) {
  RunConfig c = config({"learner.gpus=2", "learner.lora.rank=4", "learner.step.trajectories=2"});
  {
    auto session = begin_run(c, "test", "{}");
    ASSERT_TRUE(session.has_value()) << session.error().message;
    EXPECT_EQ(run(inputs_of(c, *session), 20), "done");
  }
  c.learner.gpus = 1;
  auto session = resume_run(c, folder.path() / "run", "{}");
  ASSERT_TRUE(session.has_value()) << session.error().message;
  EXPECT_GE(session->origin.version.step, 1U);
  EXPECT_TRUE(std::filesystem::exists(session->origin.checkpoint / "adapter.safetensors"));
  EXPECT_EQ(run(inputs_of(c, *session), UINT64_MAX), "done");
  session->ledger.reset();
  const RunSummary after = summary();
  EXPECT_EQ(after.trained + after.dropped_total(), 24U);
  EXPECT_FALSE(after.dropped.contains("infrastructure"));
  EXPECT_TRUE(after.is_conserved());
}

TEST_F(RunTreeTest, RankThatIsLateEndsTheRunAndNothingIsLost) {
  RunConfig c = config({"learner.gpus=2", "learner.step.trajectories=2"});
  {
    auto session = begin_run(c, "test", "{}");
    ASSERT_TRUE(session.has_value()) << session.error().message;
    EXPECT_EQ(run(inputs_of(c, *session), 20), "done");
  }
  uint32_t durable = 0;
  c.learner.rank_timeout = std::chrono::milliseconds{0};
  {
    auto session = resume_run(c, folder.path() / "run", "{}");
    ASSERT_TRUE(session.has_value()) << session.error().message;
    durable = session->origin.version.step;
    EXPECT_GE(durable, 1U);
    const std::string end = run(inputs_of(c, *session), UINT64_MAX);
    EXPECT_NE(end.find("of 2 (cpu) did not finish its work within 0 ms"), std::string::npos) << end;
  }
  EXPECT_TRUE(summary().is_conserved());
  c.learner.rank_timeout = std::chrono::minutes{1};
  auto session = resume_run(c, folder.path() / "run", "{}");
  ASSERT_TRUE(session.has_value()) << session.error().message;
  EXPECT_EQ(session->origin.version.step, durable);
  EXPECT_EQ(run(inputs_of(c, *session), UINT64_MAX), "done");
  session->ledger.reset();
  EXPECT_EQ(summary().trained + summary().dropped_total(), 24U);
  EXPECT_TRUE(summary().is_conserved());
}

TEST_F(RunTreeTest, SynchronousRunDropsNothingAsStale) {
  // The delay lets the supervisor read counts while ends are not durable yet.
  EXPECT_EQ(run_whole(config({"run.mode=sync", "learner.max_lag=0", "rollout.concurrent=8",
                              "ledger.group_commit=30ms"})),
            "done");
  const RunSummary after = summary();
  EXPECT_EQ(after.admitted, 24U);
  EXPECT_EQ(after.dropped.count("stale"), 0U);
  EXPECT_EQ(after.last_step, 3U);
}

TEST_F(RunTreeTest, StopWithinAStepFinishesThatStep) {
  const RunConfig c = config({"learner.step.minibatches=4"});
  auto session = begin_run(c, "test", "{}");
  ASSERT_TRUE(session.has_value()) << session.error().message;
  EXPECT_EQ(run(inputs_of(c, *session), 14), "done");
  EXPECT_TRUE(summary().is_conserved());
}

TEST_F(RunTreeTest, RunWithoutAnAcceptedTaskFailsAndSaysWhy) {
  refuse_all = true;
  const std::string end = run_whole(config());
  EXPECT_NE(end.find("no task was accepted; first: task "), std::string::npos) << end;
  EXPECT_EQ(gauges["failure_code"], static_cast<double>(ErrorCode::invalid_argument));
}

TEST_F(RunTreeTest, StepRecordsIdleSharesQueuesAndTokenRates) {
  EXPECT_EQ(run_whole(config()), "done");
  auto db = RunDatabase::open(RunPaths{folder.path() / "run"}.database(), SqlAccess::read_only);
  std::string all;
  const auto read = db->connection().each("SELECT metrics FROM steps", {},
                                          [&](const SqlRow& row) -> Result<void> {
                                            all += row.text(0);
                                            return {};
                                          });
  ASSERT_TRUE(read.has_value());
  for (const char* name : {"generator-0.tokens_per_s", "learner-0.tokens_per_s", "learner-0.idle",
                           "sandbox-0.queued", "rollout-1.idle"}) {
    EXPECT_NE(all.find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace warpsmith::actors
