// SPDX-License-Identifier: Apache-2.0
// A resumed run's record of its tasks: which were drawn, how often, and with what outcomes.
#include "actors/run/run_inputs.hpp"

#include "tests/actors/run/run_fixture.hpp"

namespace warpsmith::actors {
namespace {

using Counts = std::map<std::string, uint64_t>;

class RunHistoryTest : public RunFixture {
 protected:
  RunHistoryTest() { losses.none = true; }

  RunConfig few_tasks(std::vector<std::string> more = {}) const {
    more.emplace_back(
        R"(synthesis.tasks=["configs/tasks/cpu/train/attention.py","configs/tasks/cpu/train/rms_norm.py",)"
        R"("configs/tasks/cpu/train/cumsum_scale.py"])");
    return config(std::move(more));
  }

  /// As `train` makes them for a stage without a learner.
  std::shared_ptr<const RunInputs> collecting(const RunConfig& c, const RunSession& session) {
    RunInputs inputs = load_inputs(c, c.model.folder).value();
    inputs.learns = false;
    EXPECT_TRUE(add_history(inputs, session.ledger->store));
    return with_session(std::move(inputs), session);
  }

  Counts kept_by_task() const {
    auto db = RunDatabase::open(RunPaths{folder.path() / "run"}.database(), SqlAccess::read_only);
    const auto rows = trajectory_rows(*db, 1, 1000).value();
    Counts counts;
    for (const TrajectoryRow& row : rows) {
      if (!row.drop_reason) ++counts[row.task_id];
    }
    return counts;
  }

  /// The first tasks that the synthesis draws.
  std::vector<std::string> draws(const Spawners& spawners, int count = 12) {
    ActorSystemConfig cfg{2};
    caf::actor_system system{cfg};
    caf::scoped_actor self{system};
    const SandboxActor judge = spawners.sandbox(system, {"sandbox-0", tap.get()}, 0);
    const auto tasks = spawners.synthesis(system, {"synthesis-0", tap.get()}, {judge});
    std::vector<std::string> drawn;
    for (int i = 0; i < count; ++i) {
      self->request(tasks, std::chrono::seconds{20}, atom::next_task_v)
          .receive([&](const PreparedTask& task) { drawn.push_back(task.task.id); },
                   [&](const caf::error& error) { ADD_FAILURE() << system.render(error); });
    }
    self->send_exit(tasks, caf::exit_reason::user_shutdown);
    self->send_exit(judge, caf::exit_reason::user_shutdown);
    return drawn;
  }
};

TEST_F(RunHistoryTest, EachStartOfTheSynthesisDrawsAnotherSequenceReproducibly) {
  const auto of_incarnation = [&](uint32_t number) {
    auto inputs = std::make_shared<RunInputs>(load_inputs(config(), config().model.folder).value());
    inputs->origin.version.incarnation = number;
    return spawners_of(inputs);
  };
  const Spawners first = of_incarnation(1);
  const auto drawn = draws(first);
  const auto restarted = draws(first), resumed = draws(of_incarnation(2));
  EXPECT_NE(restarted, drawn);
  EXPECT_NE(resumed, drawn);
  EXPECT_NE(resumed, restarted);
  EXPECT_EQ(draws(of_incarnation(1)), drawn);
  EXPECT_EQ(draws(of_incarnation(2)), resumed);
}

TEST_F(RunHistoryTest, AResumedCollectionDrawsOnlyTheMissingSamples) {
  const RunConfig c = few_tasks({"run.stage=collect", "collect.samples=5", "rollout.concurrent=2"});
  {
    auto session = begin_run(c, "test", "{}");
    ASSERT_TRUE(session.has_value()) << session.error().message;
    EXPECT_EQ(run(collecting(c, *session), 4), "done");
  }
  auto session = resume_run(c, folder.path() / "run", "{}");
  ASSERT_TRUE(session.has_value()) << session.error().message;
  EXPECT_EQ(run(collecting(c, *session), UINT64_MAX), "done");
  session->ledger.reset();
  EXPECT_EQ(kept_by_task(), (Counts{{"attention", 5}, {"cumsum_scale", 5}, {"rms_norm", 5}}));
}

TEST_F(RunHistoryTest, SynthesisThatDiesDrawsNoTaskMoreOftenThanPlanned) {
  const RunConfig c = few_tasks({"rollout.concurrent=1"});
  fault = std::make_unique<FaultTap>(Fault{"synthesis-0", "next_task", 6});
  auto session = begin_run(c, "test", "{}");
  ASSERT_TRUE(session.has_value()) << session.error().message;
  RunInputs inputs = load_inputs(c, c.model.folder).value();
  inputs.learns = false;
  inputs.missing = Counts{{"attention", 6}, {"cumsum_scale", 1}, {"rms_norm", 1}};
  inputs.config.run.trajectories = 8;
  EXPECT_EQ(run(with_session(std::move(inputs), *session), UINT64_MAX), "done");
  EXPECT_EQ(gauges["restarts"], 1);
  session->ledger.reset();
  EXPECT_EQ(kept_by_task(), (Counts{{"attention", 6}, {"cumsum_scale", 1}, {"rms_norm", 1}}));
}

TEST_F(RunHistoryTest, TheHistoryHasTheOutcomesOfEachTasksContent) {
  const RunConfig c = few_tasks({"run.stage=collect", "collect.samples=2"});
  auto session = begin_run(c, "test", "{}");
  ASSERT_TRUE(session.has_value()) << session.error().message;
  const auto inputs = collecting(c, *session);
  EXPECT_TRUE(inputs->history->empty());
  EXPECT_EQ(run(inputs, UINT64_MAX), "done");
  const RunHistory history = read_run_history(session->ledger->store.database()).value();
  for (const Task& task : inputs->tasks) {
    EXPECT_EQ(history.kept.at(task.content_hash), 2U);
    EXPECT_EQ(history.outcomes.at(task.content_hash).size(), 2U);
  }
}

}  // namespace
}  // namespace warpsmith::actors
