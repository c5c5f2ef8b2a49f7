// SPDX-License-Identifier: Apache-2.0
#include "actors/synthesis/synthesis.hpp"

#include <map>
#include <set>

#include "actors/sandbox/sandbox.hpp"
#include "tests/actors/stand_ins.hpp"
#include "tests/support/actor_test.hpp"

namespace warpsmith::actors {
namespace {

/// Refuses the tasks whose id begins with "bad".
class PickyBackend : public sandbox::Backend {
 public:
  Judgement evaluate(const sandbox::EvaluateRequest& /*request*/, Deadline /*deadline*/) override {
    return Verdict{};
  }
  Result<TaskFacts> ingest(const Task& task, Deadline /*deadline*/) override {
    if (task.id.starts_with("bad")) return fail(ErrorCode::invalid_argument, "refused");
    TaskFacts facts;
    facts.eager_ms = 1.5;
    return facts;
  }
};

/// Fails three times with the task "ill" and twice with "slow".
class FlakyBackend : public PickyBackend {
 public:
  Result<TaskFacts> ingest(const Task& task, Deadline deadline) override {
    const int failures = task.id == "ill" ? 3 : task.id == "slow" ? 2 : 0;
    if (++tries_[task.id] <= failures) return fail(ErrorCode::timeout, "took too long");
    return PickyBackend::ingest(task, deadline);
  }

 private:
  std::map<std::string, int> tries_;
};

SupervisorActor::behavior_type listener(SupervisorActor::pointer /*self*/,
                                        std::vector<FailureReport>* heard) {
  return {[](atom::status) { return ActorStatus{}; },
          [heard](const FailureReport& report) { heard->push_back(report); }, [](atom::stop) {},
          [](atom::snapshot) { return Observation{}; }};
}

class SynthesisTest : public ActorTest {
 protected:
  SynthesisActor with_tasks(const std::vector<std::string>& ids, size_t min_ready = 1,
                            size_t max_tasks = 100) {
    std::vector<Task> tasks(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) tasks[i].id = ids[i];
    SynthesisSettings settings;
    settings.min_ready = min_ready;
    settings.max_tasks = max_tasks;
    actor = sys.spawn(synthesis, identity("synthesis-0"), tasks, std::vector{judge}, settings);
    return actor;
  }
  void TearDown() override {
    self->send_exit(actor, caf::exit_reason::user_shutdown);
    self->send_exit(judge, caf::exit_reason::user_shutdown);
    deliver_all();
  }

  SandboxActor judge = sys.spawn(sandbox, identity("sandbox-0"),
                                 SandboxBackends{[]() -> Result<std::unique_ptr<sandbox::Backend>> {
                                                   return std::make_unique<FlakyBackend>();
                                                 },
                                                 {}},
                                 SandboxActorSettings{.detached = false});
  SynthesisActor actor;
};

TEST_F(SynthesisTest, AnswersAcceptedTasksOnly) {
  with_tasks({"a", "bad-1", "b"});
  deliver_all();
  std::set<std::string> seen;
  for (int i = 0; i < 4; ++i) seen.insert(ask<PreparedTask>(actor, atom::next_task_v)->task.id);
  EXPECT_EQ(seen, (std::set<std::string>{"a", "b"}));
}

TEST_F(SynthesisTest, ALargeSetStartsWithARandomSample) {
  std::vector<Task> tasks(100);
  for (size_t i = 0; i < tasks.size(); ++i) tasks[i].id = std::to_string(100 + i);
  SynthesisSettings settings;
  settings.max_tasks = 20;  // only the first ones
  settings.mixed = true;
  actor = sys.spawn(synthesis, identity("synthesis-0"), tasks, std::vector{judge}, settings);
  deliver_all();
  std::set<std::string> seen;
  for (int i = 0; i < 200; ++i) seen.insert(ask<PreparedTask>(actor, atom::next_task_v)->task.id);
  EXPECT_EQ(seen.size(), 20);
  EXPECT_LT(*seen.begin(), "120");
  EXPECT_GT(*seen.rbegin(), "180") << "the last ones come as early as the first";
}

TEST(SynthesisSettingsTest, OnlyALargeSetIsShuffled) {
  const auto settings = [](size_t tasks) { return synthesis_settings({}, tasks, "run"); };
  EXPECT_FALSE(settings(64).mixed);
  EXPECT_EQ(settings(64).min_ready, 64);
  EXPECT_TRUE(settings(65).mixed);
  EXPECT_EQ(settings(65).min_ready, 64);
}

TEST_F(SynthesisTest, RequestsWaitUntilEnoughTasksAreAccepted) {
  with_tasks({"a", "b", "c"}, 3);
  const auto task = ask<PreparedTask>(actor, atom::next_task_v);
  ASSERT_TRUE(task.has_value()) << task.error().message;
  EXPECT_EQ(task->facts.eager_ms, 1.5);
}

TEST_F(SynthesisTest, AnEvaluationGetsOnlyTheMissingSamplesOfEachTask) {
  std::vector<Task> tasks(3);
  for (size_t i = 0; i < 3; ++i) tasks[i].id = std::vector<std::string>{"a", "bad-1", "b"}[i];
  SynthesisSettings settings;
  settings.draws =
      std::make_shared<DrawPlan>(synthesis::DrawLimits{{"a", 2}, {"bad-1", 2}, {"b", 1}});
  settings.min_ready = 3;
  actor = sys.spawn(synthesis, identity("synthesis-0"), tasks, std::vector{judge}, settings);
  deliver_all();
  std::map<std::string, int> drawn;
  for (int i = 0; i < 5; ++i) ++drawn[ask<PreparedTask>(actor, atom::next_task_v)->task.id];
  EXPECT_EQ(drawn, (std::map<std::string, int>{{"a", 2}, {"b", 1}, {"", 2}}));
}

TEST_F(SynthesisTest, LeavesOutTasksBeyondThePoolsSize) {
  with_tasks({"a", "bad-1", "b", "c", "d"}, 5, 2);
  deliver_all();
  std::set<std::string> seen;
  for (int i = 0; i < 4; ++i) seen.insert(ask<PreparedTask>(actor, atom::next_task_v)->task.id);
  EXPECT_EQ(seen, (std::set<std::string>{"a", "b"}));
  const auto status = ask<ActorStatus>(actor, atom::status_v);
  EXPECT_EQ(status->gauges.at("left_out"), 2);
  EXPECT_EQ(status->phase, "serving");
}

TEST_F(SynthesisTest, TasksWithImpossibleTimesAreQuarantined) {
  with_tasks({"a", "b"});
  deliver_all();
  for (int i = 0; i < 8; ++i) {
    self->send(actor, TaskOutcome{"a", {.reward = -1, .verdict = VerdictClass::too_fast}});
  }
  deliver_all();
  EXPECT_EQ(ask<ActorStatus>(actor, atom::status_v)->gauges.at("quarantined"), 1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ask<PreparedTask>(actor, atom::next_task_v)->task.id, "b");
  }
}

TEST_F(SynthesisTest, OutcomesFromBeforeAResumeCountForTheirContent) {
  std::vector<Task> tasks(2);
  tasks[0].id = tasks[0].content_hash = "a";
  tasks[1].id = tasks[1].content_hash = "b";
  const std::vector<Outcome> before(8, {.reward = -1, .verdict = VerdictClass::too_fast});
  SynthesisSettings settings;
  settings.history = std::make_shared<const OutcomesByTask>(OutcomesByTask{{"a", before}});
  actor = sys.spawn(synthesis, identity("synthesis-0"), tasks, std::vector{judge}, settings);
  deliver_all();
  EXPECT_EQ(ask<ActorStatus>(actor, atom::status_v)->gauges.at("quarantined"), 1);
  EXPECT_EQ(ask<PreparedTask>(actor, atom::next_task_v)->task.id, "b");
}

TEST_F(SynthesisTest, FindsATaskByIdEvenBeforeItsIngest) {
  with_tasks({"a", "b"});
  EXPECT_EQ(ask<PreparedTask>(actor, atom::next_task_v, std::string{"b"})->task.id, "b");
  EXPECT_EQ(ask<PreparedTask>(actor, atom::next_task_v, std::string{"c"}).error().code,
            ErrorCode::not_found);
}

TEST_F(SynthesisTest, RequestsFailWhenEveryTaskWasRefused) {
  with_tasks({"bad-1", "bad-2"});
  const auto task = ask<PreparedTask>(actor, atom::next_task_v);
  ASSERT_FALSE(task.has_value());
  EXPECT_EQ(task.error().code, ErrorCode::not_found);
}

TEST_F(SynthesisTest, OnlyARefusalOrThreeFailuresRefuseATask) {
  with_tasks({"a", "ill", "slow"}, 3);
  deliver_all();
  const auto status = ask<ActorStatus>(actor, atom::status_v);
  EXPECT_EQ(status->gauges.at("accepted"), 2);
  EXPECT_EQ(status->gauges.at("refused"), 1);
}

TEST_F(SynthesisTest, EachRefusalIsAnEventOfTheRun) {
  const LedgerActor ledger = sys.spawn(stand_in::ledger);
  with_tasks({"bad-1", "a", "bad-2"});
  deliver_all();  // refusals before Peers brings the ledger are kept
  Peers peers;
  peers.ledger = ledger;
  peers.sandboxes = {judge};
  self->send(actor, peers);
  deliver_all();
  EXPECT_EQ(ask<ActorStatus>(ledger, atom::status_v)->handled, 2U);
  self->send_exit(ledger, caf::exit_reason::user_shutdown);
}

TEST_F(SynthesisTest, SupervisorGetsAReportWhenEveryTaskWasRefused) {
  std::vector<FailureReport> heard;
  const SupervisorActor supervisor = sys.spawn(listener, &heard);
  with_tasks({"bad-1", "bad-2"});
  Peers peers;
  peers.supervisor = supervisor;
  peers.sandboxes = {judge};
  self->send(actor, peers);
  deliver_all();
  ASSERT_FALSE(heard.empty());
  EXPECT_EQ(heard[0].code, ErrorCode::invalid_argument);
  EXPECT_EQ(heard[0].message, "no task was accepted; first: task bad-1 refused: refused");
  self->send_exit(supervisor, caf::exit_reason::user_shutdown);
}

}  // namespace
}  // namespace warpsmith::actors
