// SPDX-License-Identifier: Apache-2.0
// Every interface, used between two processes over loopback.
#include <gtest/gtest.h>
#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>

#include <cmath>

#include "tests/actors/net/net_support.hpp"

namespace warpsmith::actors {
namespace {

class NetTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server = new ServerProcess; }
  static void TearDownTestSuite() {
    delete server;
    server = nullptr;
  }

  template <class Handle>
  Handle connect(Served which) {
    auto handle = sys.middleman().remote_actor<Handle>("127.0.0.1", server->port(which));
    if (!handle) throw std::runtime_error(sys.render(handle.error()));
    return *handle;
  }

  /// Why a connection with this interface fails; empty if it does not.
  template <class Handle>
  std::string refusal(Served which) {
    const auto handle = sys.middleman().remote_actor<Handle>("127.0.0.1", server->port(which));
    return handle.engaged() ? "" : sys.render(handle.error());
  }

  template <class Out, class Handle, class... Args>
  Out ask(const Handle& actor, const Args&... args) {
    Out answer{};
    self->request(actor, std::chrono::seconds{20}, args...)
        .receive([&](Out& out) { answer = std::move(out); },
                 [&](const caf::error& e) { ADD_FAILURE() << sys.render(e); });
    return answer;
  }

  /// The stand-in's count of messages; those sent before this request have arrived.
  template <class Handle>
  uint64_t received(const Handle& actor) {
    return ask<ActorStatus>(actor, atom::status_v).handled;
  }

  static ServerProcess* server;
  NetConfig cfg;
  caf::actor_system sys{cfg};
  caf::scoped_actor self{sys};
};

ServerProcess* NetTest::server = nullptr;

TEST_F(NetTest, Telemetry) {
  const auto far = connect<TelemetryActor>(Served::telemetry);
  self->send(far, Observation{"near", {{"nan", std::nan("")}}, {}});
  EXPECT_EQ(received(far), 1U);
  EXPECT_EQ(ask<Observation>(far, atom::snapshot_v).values.at("x"), 1.5);
}

TEST_F(NetTest, Generator) {
  const auto far = connect<GeneratorActor>(Served::generator);
  self->send(far, WeightsReady{{1, 2}});
  self->send(far, atom::release_v, TrajectoryId{4});
  EXPECT_EQ(received(far), 2U);
  EXPECT_TRUE(ask<bool>(far, GenerateCall{1, 0, true, {1, 2, 3}, 16}));
}

TEST_F(NetTest, WeightStore) {
  const auto far = connect<WeightStoreActor>(Served::weight_store);
  self->send(far, atom::subscribe_v, connect<GeneratorActor>(Served::generator));
  EXPECT_EQ(received(far), 1U);
  const auto shard = ask<WeightShard>(far, atom::pull_v, PolicyVersion{3, 9}, uint32_t{5});
  EXPECT_EQ(shard.version, (PolicyVersion{3, 9}));
  EXPECT_EQ(shard.index, 5U);
  EXPECT_EQ(shard.bytes.size(), 1024U);
}

TEST_F(NetTest, ToolExecutor) {
  const auto far = connect<ToolExecutorActor>(Served::tool_executor);
  ToolCall call{9, 1, "read", {{"path", "a.cpp"}}, {}};
  EXPECT_EQ(ask<ToolAnswer>(far, call).text, "a.cpp");
  self->send(far, atom::release_v, TrajectoryId{9});
  EXPECT_EQ(received(far), 1U);
}

TEST_F(NetTest, Sandbox) {
  const auto far = connect<SandboxActor>(Served::sandbox);
  EvaluateCall call{7, 3, {}};
  call.request.submission.files["a.cpp"] = "int a;";
  const auto judgement = ask<Judgement>(far, call);
  const auto& failure = std::get<InfraFailure>(judgement);
  EXPECT_EQ(failure.kind, InfraKind::noise);
  EXPECT_EQ(failure.detail, "7.3: int a;");
  Task task;
  task.code = "four";
  const auto facts = ask<TaskFacts>(far, atom::ingest_v, task);
  EXPECT_EQ(facts.eager_ms, 4.0);
  EXPECT_TRUE(std::isinf(facts.flops));
}

TEST_F(NetTest, Synthesis) {
  const auto far = connect<SynthesisActor>(Served::synthesis);
  (void)ask<PreparedTask>(far, atom::next_task_v);
  EXPECT_EQ(ask<PreparedTask>(far, atom::next_task_v, std::string{"relu"}).task.id, "relu");
  self->send(far, TaskOutcome{"t", {.reward = 1}});
  self->send(far, Peers{});
  EXPECT_EQ(received(far), 2U);
}

TEST_F(NetTest, Composer) {
  const auto far = connect<ComposerActor>(Served::composer);
  const auto found = ask<synthesis::Composition>(far, atom::compose_v, uint64_t{7});
  EXPECT_EQ(found, (synthesis::Composition{.index = 7, .reason = "far"}));
}

TEST_F(NetTest, Ledger) {
  const auto far = connect<LedgerActor>(Served::ledger);
  Task task;
  task.id = "abc";
  EXPECT_EQ(ask<Admission>(far, atom::admit_v, task).trajectory, 3U);
  EXPECT_EQ(ask<uint32_t>(far, Segment{1, 6, {}, {}, {}, {}}), 6U);
  Closed closed;
  closed.outcome.reward = 2.0;
  EXPECT_TRUE(ask<bool>(far, closed));
  EXPECT_TRUE(ask<bool>(far, Dropped{1, DropReason::stale, ""}));
  EXPECT_TRUE(ask<bool>(far, StepDone{{0, 1}, {1, 2}, {}}));
  EXPECT_TRUE(ask<bool>(far, atom::checkpoint_v, PolicyVersion{0, 5}));
  self->send(far, Judged{});
  self->send(far, Event{"restart", "sandbox-0", "x"});
  self->send(far, Observation{"generator-0", {{"queued", 1}}, {}});
  self->send(far, atom::redeliver_v, connect<LearnerActor>(Served::learner));
  self->send(far, atom::drain_v);
  self->send(far, atom::drain_v, uint64_t{7});
  EXPECT_EQ(received(far), 6U);
  EXPECT_EQ(ask<LedgerCounts>(far, atom::counts_v).dropped.at("stale"), 1U);
}

TEST_F(NetTest, Learner) {
  const auto far = connect<LearnerActor>(Served::learner);
  self->send(far, Segment{1, 0, {5}, {1}, {-INFINITY}, {{}}});
  self->send(far, Closed{});
  self->send(far, Dropped{});
  EXPECT_EQ(received(far), 3U);
  EXPECT_TRUE(ask<bool>(far, atom::flush_v));
  EXPECT_EQ(received(far), 4U) << "the flush sends a message within the other process";
  EXPECT_EQ(ask<std::string>(far, atom::checkpoint_v), "step-7");
}

TEST_F(NetTest, RolloutWithHandlesInsideTheMessage) {
  const auto far = connect<RolloutActor>(Served::rollout);
  Peers peers;
  peers.ledger = connect<LedgerActor>(Served::ledger);
  peers.learner = connect<LearnerActor>(Served::learner);
  peers.synthesis = connect<SynthesisActor>(Served::synthesis);
  peers.generators = {connect<GeneratorActor>(Served::generator)};
  self->send(far, peers);
  self->send(far, TokenChunk{1, 0, {1}, {-0.5F}, {{0, 1}}, FinishReason::none});
  EXPECT_EQ(received(far), 2U);
}

TEST_F(NetTest, Supervisor) {
  const auto far = connect<SupervisorActor>(Served::supervisor);
  self->send(far, FailureReport{"rollout-0", ErrorCode::timeout, "x"});
  self->send(far, atom::stop_v);
  EXPECT_EQ(received(far), 2U);
  EXPECT_EQ(ask<Observation>(far, atom::snapshot_v).values.at("x"), 2.5);
}

TEST_F(NetTest, AnotherInterfaceIsRefusedByName) {
  EXPECT_NE(refusal<LedgerActor>(Served::learner).find("unexpected_actor_messaging_interface"),
            std::string::npos);
}

TEST_F(NetTest, MessagesToItselfAreNotPublished) {
  using WithStep = LearnerActor::extend<caf::reacts_to<atom::step>>;
  EXPECT_NE(refusal<WithStep>(Served::learner).find("unexpected_actor_messaging_interface"),
            std::string::npos);
}

}  // namespace
}  // namespace warpsmith::actors
