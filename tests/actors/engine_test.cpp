// SPDX-License-Identifier: Apache-2.0
// The whole tree with the real ledger, learner, generator, tools and rollouts; only the sandbox is
// scripted, so that no jail and no torch worker is needed.
#include "actors/engine.hpp"

#include <gtest/gtest.h>

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>

#include "actors/errors.hpp"
#include "actors/inspect.hpp"
#include "actors/sandbox.hpp"
#include "runtime/run/run_queries.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::actors {
namespace {

using test_support::TemporaryFolder;

/// Every submission is correct; every fifth evaluation is lost with its process.
class ScriptedBackend : public SandboxBackend {
 public:
  Judgement evaluate(const Task& /*task*/, const Submission& /*submission*/, Request /*request*/,
                     std::chrono::milliseconds /*budget*/) override {
    if (++calls_ % 5 == 0) return InfraFailure{InfraKind::sandbox_lost, "scripted"};
    Verdict verdict;
    verdict.outcome = VerdictClass::passed;
    verdict.feedback = "passed: 5 of 5 sets, worst error 0.1 of the bound";
    return verdict;
  }
  Result<TaskFacts> ingest(const Task& /*task*/, std::chrono::milliseconds /*budget*/) override {
    TaskFacts facts;
    facts.eager_ms = 1;
    facts.signature.tensors = {{"x", TensorRole::input, Dtype::f32, {8, 8}, {"d0", "d0"}},
                               {"y", TensorRole::output, Dtype::f32, {8, 8}, {"d0", "d0"}}};
    facts.signature.dims = {8};
    facts.signature.dim_names = {"d0"};
    return facts;
  }

 private:
  int calls_ = 0;
};

struct Config : caf::actor_system_config {
  Config() {
    set("scheduler.max-threads", 2);
    set("scheduler.max-throughput", 50);
    add_message_types<caf::id_block::warpsmith>();
    add_message_types<caf::id_block::warpsmith_handles>();
    register_errors(*this);
  }
};

class EngineTest : public ::testing::Test {
 protected:
  RunConfig config() const {
    auto loaded = load_run_config(
        "configs/quickstart.toml",
        {"run.trajectories=24", "learner.step_trajectories=8", "ledger.checkpoint_steps=1",
         "rollout.concurrent=4", "supervisor.heartbeat=50", "agent.max_tokens=512",
         "generator.max_new_tokens=200"});
    if (!loaded) throw std::runtime_error(loaded.error().message);
    loaded->run.folder = folder.path();
    loaded->run.name = "run";
    return *loaded;
  }

  std::shared_ptr<const EngineInputs> inputs_of(const RunConfig& c, const RunSession& session) {
    auto inputs = load_inputs(
        c, session.origin.checkpoint.empty() ? c.model.folder : session.origin.checkpoint);
    if (!inputs) throw std::runtime_error(inputs.error().message);
    inputs->ledger = session.ledger;
    inputs->checkpoints = session.checkpoints;
    inputs->origin = session.origin;
    inputs->scratch = session.folder.paths().folder / "scratch";
    return std::make_shared<const EngineInputs>(std::move(*inputs));
  }

  /// Runs until the supervisor is done, or `stop_at` trajectories were admitted.
  std::string run(const std::shared_ptr<const EngineInputs>& inputs, uint64_t stop_at) {
    Config cfg;
    caf::actor_system system{cfg};
    caf::scoped_actor self{system};
    Spawners spawners = make_spawners(inputs);
    spawners.sandbox = [](caf::actor_system& sys, Identity id, uint32_t /*index*/) {
      const SandboxBackendFactory factory = []() -> Result<std::unique_ptr<SandboxBackend>> {
        return std::make_unique<ScriptedBackend>();
      };
      return sys.spawn(sandbox, std::move(id), SandboxBackends{factory, {}}, SandboxSettings{});
    };
    const auto root = system.spawn(supervisor, Identity{"supervisor", tap.get()}, spawners,
                                   supervisor_settings(inputs->config));
    std::string phase;
    const auto deadline = Deadline::after(std::chrono::seconds{120});
    while (phase != "done" && !phase.starts_with("failed") && !deadline.passed()) {
      double admitted = 0;
      self->request(root, std::chrono::seconds{10}, atom::status_v)
          .receive(
              [&](const ActorStatus& status) {
                phase = status.phase;
                admitted = status.gauges.at("admitted");
              },
              [&](const caf::error& error) { phase = "failed: " + system.render(error); });
      if (admitted >= static_cast<double>(stop_at)) self->send(root, atom::stop_v);
      // The supervisor looks at the ledger every 50 ms; asking more often tells nothing new.
      self->receive(caf::after(std::chrono::milliseconds{50}) >> [] {});
    }
    self->send_exit(root, caf::exit_reason::user_shutdown);
    return phase;
  }

  RunSummary summary() const {
    auto db = RunDatabase::open(RunPaths{folder.path() / "run"}.database(), SqlAccess::read_only);
    auto read = summarize(*db);
    if (!read) throw std::runtime_error(read.error().message);
    return *read;
  }

  TemporaryFolder folder;
  std::unique_ptr<Tap> tap = make_silent_tap();
};

TEST_F(EngineTest, EveryAdmittedTrajectoryIsTrainedOrDropped) {
  const RunConfig c = config();
  auto session = begin_run(c, "test", "{}");
  ASSERT_TRUE(session.has_value()) << session.error().message;
  EXPECT_EQ(run(inputs_of(c, *session), UINT64_MAX), "done");
  session->ledger.reset();
  const RunSummary after = summary();
  EXPECT_EQ(after.admitted, 24U);
  EXPECT_EQ(after.in_flight, 0U);
  EXPECT_TRUE(after.law_holds());
  EXPECT_GE(after.last_step, 3U);
}

TEST_F(EngineTest, StoppedRunGoesOnWhereItWas) {
  const RunConfig c = config();
  {
    auto session = begin_run(c, "test", "{}");
    ASSERT_TRUE(session.has_value()) << session.error().message;
    EXPECT_EQ(run(inputs_of(c, *session), 9), "done");
  }
  EXPECT_TRUE(summary().law_holds());
  auto session = resume_run(c, folder.path() / "run", "{}");
  ASSERT_TRUE(session.has_value()) << session.error().message;
  EXPECT_EQ(session->origin.version.incarnation, 2U);
  EXPECT_EQ(run(inputs_of(c, *session), UINT64_MAX), "done");
  session->ledger.reset();
  const RunSummary after = summary();
  EXPECT_EQ(after.admitted, 24U);
  EXPECT_EQ(after.trained + after.dropped_total(), 24U);
  EXPECT_FALSE(after.dropped.contains("infrastructure"));  // open ones went on
  EXPECT_TRUE(after.law_holds());
}

}  // namespace
}  // namespace warpsmith::actors
