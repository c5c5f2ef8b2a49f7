// SPDX-License-Identifier: Apache-2.0
// One actor of the whole tree dies during the run: the run still ends, and nothing is lost.
#include <algorithm>

#include "tests/actors/run/run_fixture.hpp"

namespace warpsmith::actors {
namespace {

class DeathTest : public RunFixture, public ::testing::WithParamInterface<Fault> {
 protected:
  DeathTest() { fault = std::make_unique<FaultTap>(GetParam()); }
};

TEST_P(DeathTest, RunEndsAndNothingIsLost) {
  EXPECT_EQ(run_whole(config({"rollout.count=2", "rollout.concurrent=3"})), "done");
  EXPECT_TRUE(fault->fired());
  EXPECT_GE(gauges["restarts"], 1);
  const RunSummary after = summary();
  EXPECT_EQ(after.admitted, 24U);
  EXPECT_EQ(after.in_flight, 0U);
  EXPECT_EQ(after.dropped.count("infrastructure"), 0U);
  EXPECT_TRUE(after.is_conserved());
}

/// A requester notices an actor that threw twice: by an error answer and by a successor.
class OneFailureTest : public DeathTest {
 protected:
  OneFailureTest() { losses.none = true; }
};

TEST_P(OneFailureTest, DeathCountsOnceForTheStepThatWaited) {
  EXPECT_EQ(
      run_whole(config({"rollout.infra_retries=1", "rollout.count=1", "rollout.concurrent=3"})),
      "done");
  EXPECT_TRUE(fault->fired());
  EXPECT_EQ(gauges["restarts"], 1);
  EXPECT_EQ(summary().dropped.count("infrastructure"), 0U);
}

std::string name_of(const ::testing::TestParamInfo<Fault>& info) {
  std::string name = info.param.actor + "_" + info.param.handler +
                     (info.param.in_call ? "_in_call_" : "_") + std::to_string(info.param.nth);
  std::ranges::replace(name, '-', '_');
  return name;
}

/// Deaths that end the run.
class RestartTest : public RunFixture {};

TEST_F(RestartTest, TheCauseOfTheEndIsShownAndRecorded) {
  fault = std::make_unique<FaultTap>(Fault{"learner-0", "close", 3});
  const std::string end = run_whole(config());
  EXPECT_EQ(end.find("failed: learner-0 ended: scripted death"), 0U) << end;
  auto db = RunDatabase::open(RunPaths{folder.path() / "run"}.database(), SqlAccess::read_only);
  const auto events = recent_events(*db, 10);
  ASSERT_TRUE(events.has_value());
  ASSERT_FALSE(events->empty());
  EXPECT_EQ(events->front().kind, "give_up");
}

TEST_F(RestartTest, ALostGpuEndsTheRunAtOnceAndTheRunResumes) {
  fault = std::make_unique<FaultTap>(Fault{"generator-0", "step", 60, false, /*device=*/true});
  const std::string end = run_whole(config());
  EXPECT_EQ(end.find("failed: generator-0 ended: cuLaunchKernel: scripted loss; this process has "
                     "lost its GPU"),
            0U)
      << end;
  EXPECT_EQ(gauges["restarts"], 0) << "no restart in this process can help";
  EXPECT_TRUE(summary().is_conserved());
  fault.reset();
  {
    auto session = resume_run(config(), folder.path() / "run", "{}");
    ASSERT_TRUE(session) << session.error().message;
    EXPECT_EQ(run(inputs_of(config(), *session), UINT64_MAX), "done");
  }
  EXPECT_EQ(summary().admitted, 24U);
  EXPECT_EQ(summary().in_flight, 0U);
  EXPECT_TRUE(summary().is_conserved());
}

/// `run` returns only when the actor system has no actor left.
TEST_F(RestartTest, ChildrenEndWithASupervisorThatThrows) {
  fault = std::make_unique<FaultTap>(Fault{"supervisor", "tick", 2});
  EXPECT_EQ(run_whole(config()).find("failed: "), 0U);
  EXPECT_TRUE(fault->fired());
  EXPECT_TRUE(summary().is_conserved());
}

INSTANTIATE_TEST_SUITE_P(
    EachKind, DeathTest,
    ::testing::Values(Fault{"rollout-0", "tokens", 1}, Fault{"rollout-0", "tokens", 30},
                      Fault{"rollout-1", "tick", 5}, Fault{"generator-0", "generate", 7},
                      Fault{"generator-0", "step", 60}, Fault{"tool_executor-0", "call", 5},
                      Fault{"tool_executor-0", "release", 2}, Fault{"sandbox-0", "evaluate", 4},
                      Fault{"sandbox-0", "progress", 1, true},
                      Fault{"sandbox-0", "progress", 27, true},
                      Fault{"synthesis-0", "next_task", 3}, Fault{"synthesis-0", "record", 4}),
    name_of);

INSTANTIATE_TEST_SUITE_P(EachThatIsAsked, OneFailureTest,
                         ::testing::Values(Fault{"generator-0", "generate", 7},
                                           Fault{"tool_executor-0", "call", 5},
                                           Fault{"sandbox-0", "evaluate", 4},
                                           Fault{"sandbox-0-worker", "evaluate", 4}),
                         name_of);

}  // namespace
}  // namespace warpsmith::actors
