// SPDX-License-Identifier: Apache-2.0
#include "actors/sandbox.hpp"

#include "tests/support/actor_test.hpp"

namespace warpsmith::actors {
namespace {

/// Passes everything but submissions of task "lost", with which it dies.
class ScriptedBackend : public SandboxBackend {
 public:
  Judgement evaluate(const Task& task, const Submission& /*submission*/, Request /*request*/,
                     std::chrono::milliseconds /*budget*/) override {
    if (task.id == "lost") return InfraFailure{InfraKind::sandbox_lost, "process ended"};
    Verdict verdict;
    verdict.outcome = VerdictClass::passed;
    return verdict;
  }
  Result<TaskFacts> ingest(const Task& task, std::chrono::milliseconds /*budget*/) override {
    if (task.id == "random") return fail(ErrorCode::unsupported, "task random: outputs differ");
    return TaskFacts{};
  }
};

class SandboxTest : public ActorTest {
 protected:
  SandboxBackendFactory factory = [this]() -> Result<std::unique_ptr<SandboxBackend>> {
    ++made;
    if (broken) return fail(ErrorCode::process_failed, "no jail");
    return std::make_unique<ScriptedBackend>();
  };
  SandboxSettings settings{.detached = false};
  int made = 0;
  bool broken = false;
  SandboxActor actor = sys.spawn(sandbox, identity("sandbox-0"), factory, settings);

  Judgement judge(const std::string& task) {
    EvaluateCall call;
    call.task.id = task;
    const auto reply = ask<EvaluateReply>(actor, call);
    EXPECT_TRUE(reply.has_value());
    return reply ? reply->judgement : Judgement{InfraFailure{}};
  }
  void TearDown() override {
    self->send_exit(actor, caf::exit_reason::user_shutdown);
    deliver_all();
  }
};

TEST_F(SandboxTest, AnswersWithTheVerdict) {
  const Judgement judgement = judge("relu");
  ASSERT_TRUE(std::holds_alternative<Verdict>(judgement));
  EXPECT_TRUE(std::get<Verdict>(judgement).correct());
}

TEST_F(SandboxTest, LostBackendIsAnInfrastructureFailureAndIsReplaced) {
  EXPECT_EQ(std::get<InfraFailure>(judge("lost")).kind, InfraKind::sandbox_lost);
  EXPECT_TRUE(std::holds_alternative<Verdict>(judge("relu")));
  EXPECT_EQ(made, 2);
}

TEST_F(SandboxTest, BackendThatCannotStartIsAnInfrastructureFailure) {
  broken = true;
  EXPECT_EQ(std::get<InfraFailure>(judge("relu")).detail, "no jail");
}

TEST_F(SandboxTest, RefusedTaskIsAnErrorWithItsReason) {
  Task task;
  task.id = "random";
  const auto facts = ask<TaskFacts>(actor, atom::ingest_v, task);
  ASSERT_FALSE(facts.has_value());
  EXPECT_EQ(facts.error().code, ErrorCode::unsupported);
  EXPECT_EQ(facts.error().message, "task random: outputs differ");
}

TEST_F(SandboxTest, ServesAQueueInOrder) {
  for (int i = 0; i < 5; ++i) {
    EvaluateCall call;
    call.trajectory = static_cast<TrajectoryId>(i);
    self->send(actor, call);
  }
  deliver_all();
  const auto status = ask<ActorStatus>(actor, atom::status_v);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->queued, 0U);
  EXPECT_EQ(status->phase, "idle");
}

}  // namespace
}  // namespace warpsmith::actors
