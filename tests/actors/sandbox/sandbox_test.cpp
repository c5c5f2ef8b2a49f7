// SPDX-License-Identifier: Apache-2.0
#include "actors/sandbox/sandbox.hpp"

#include "tests/support/actor_test.hpp"

namespace warpsmith::actors {
namespace {

/// Passes every submission, with three exceptions: task "lost" loses the sandbox, task "broken"
/// does not compile, task "slow" exceeds the deadline and loses every later call. Compiling takes
/// 100 ms, a hit in the cache 1 ms.
class ScriptedBackend : public sandbox::Backend {
 public:
  explicit ScriptedBackend(std::vector<Request>& seen, std::vector<std::string>* tasks = nullptr)
      : seen_(seen), tasks_(tasks) {}
  Judgement evaluate(const sandbox::EvaluateRequest& request, Deadline /*deadline*/) override {
    const Task& task = request.task;
    seen_.push_back(request.want);
    if (tasks_) tasks_->push_back(task.id);
    if (lost_) return InfraFailure{InfraKind::sandbox_lost, "the sandbox program is gone"};
    lost_ = task.id == "slow";
    if (lost_) return InfraFailure{InfraKind::deadline, "no answer"};
    if (task.id == "lost") return InfraFailure{InfraKind::sandbox_lost, "process ended"};
    Verdict verdict;
    verdict.outcome = task.id == "broken" ? VerdictClass::compile_error : VerdictClass::passed;
    verdict.phase_ms["compile"] = request.want == Request::compile ? 100 : 1;
    return verdict;
  }
  Result<TaskFacts> ingest(const Task& task, Deadline /*deadline*/) override {
    if (tasks_) tasks_->push_back("ingest of " + task.id);
    lost_ = task.id == "slow";
    if (lost_) return fail(ErrorCode::timeout, "no answer");
    if (task.id == "random") return fail(ErrorCode::unsupported, "task random: outputs differ");
    return TaskFacts{};
  }
  bool lost() const override { return lost_; }

 private:
  bool lost_ = false;
  std::vector<Request>& seen_;
  std::vector<std::string>* tasks_;
};

class SandboxTest : public ActorTest {
 protected:
  SandboxBackendFactory factory = [this]() -> Result<std::unique_ptr<sandbox::Backend>> {
    ++made;
    if (broken) return fail(ErrorCode::process_failed, "no jail");
    return std::make_unique<ScriptedBackend>(on_device, &judged);
  };
  SandboxBackendFactory compiler = [this]() -> Result<std::unique_ptr<sandbox::Backend>> {
    return std::make_unique<ScriptedBackend>(on_compiler);
  };
  SandboxActorSettings settings{.detached = false};
  int made = 0;
  bool broken = false;
  std::vector<Request> on_device, on_compiler;
  std::vector<std::string> judged;  // tasks on the device, in order
  SandboxActor actor =
      sys.spawn(sandbox, identity("sandbox-0"), SandboxBackends{factory, {}}, settings);
  SandboxActor two_workers =
      sys.spawn(sandbox, identity("sandbox-1"), SandboxBackends{factory, compiler}, settings);

  Judgement judge(const std::string& task) { return judge(actor, task, Request::final); }
  Judgement judge(const SandboxActor& by, const std::string& task, Request request) {
    EvaluateCall call;
    call.request.task.id = task;
    call.request.want = request;
    const auto answer = ask<Judgement>(by, call);
    EXPECT_TRUE(answer.has_value());
    return answer.value_or(Judgement{InfraFailure{}});
  }
  void TearDown() override {
    self->send_exit(actor, caf::exit_reason::user_shutdown);
    self->send_exit(two_workers, caf::exit_reason::user_shutdown);
    deliver_all();
  }
};

TEST_F(SandboxTest, AnIngestWaitsForTheEvaluationsInTheQueue) {
  const auto send = [this](const char* id) {
    EvaluateCall call;
    call.request.task.id = id;
    self->send(actor, call);
  };
  const auto ingest = [this](const char* id) {
    Task task;
    task.id = id;
    self->send(actor, atom::ingest_v, task);
  };
  send("a");
  ingest("new");
  send("b");
  ingest("newer");
  send("c");
  deliver_all();
  EXPECT_EQ(judged, (std::vector<std::string>{"a", "b", "c", "ingest of new", "ingest of newer"}));
}

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

TEST_F(SandboxTest, BackendLostAtADeadlineIsReplacedBeforeTheNextCall) {
  EXPECT_EQ(std::get<InfraFailure>(judge("slow")).kind, InfraKind::deadline);
  EXPECT_TRUE(std::holds_alternative<Verdict>(judge("relu")));
  EXPECT_EQ(made, 2);
}

TEST_F(SandboxTest, BackendLostWhileATaskIsMeasuredIsReplacedBeforeTheNextCall) {
  Task task;
  task.id = "slow";
  const auto facts = ask<TaskFacts>(actor, atom::ingest_v, task);
  ASSERT_FALSE(facts.has_value());
  EXPECT_EQ(facts.error().code, ErrorCode::timeout);
  EXPECT_TRUE(std::holds_alternative<Verdict>(judge("relu")));
  EXPECT_EQ(made, 2);
}

TEST_F(SandboxTest, BackendThatCannotStartIsAnInfrastructureFailure) {
  broken = true;
  EXPECT_EQ(std::get<InfraFailure>(judge("relu")).detail, "no jail");
}

TEST_F(SandboxTest, CompileTimeCountsBothWorkers) {
  const Judgement judgement = judge(two_workers, "relu", Request::final);
  ASSERT_TRUE(std::holds_alternative<Verdict>(judgement));
  EXPECT_EQ(std::get<Verdict>(judgement).phase_ms.at("compile"), 101);
  EXPECT_EQ(on_compiler, std::vector{Request::compile});
  EXPECT_EQ(on_device, std::vector{Request::final});
}

TEST_F(SandboxTest, SubmissionThatDoesNotCompileNeverReachesTheDevice) {
  const Judgement judgement = judge(two_workers, "broken", Request::final);
  EXPECT_EQ(std::get<Verdict>(judgement).outcome, VerdictClass::compile_error);
  EXPECT_EQ(std::get<InfraFailure>(judge(two_workers, "lost", Request::verify)).kind,
            InfraKind::sandbox_lost);
  EXPECT_TRUE(std::get<Verdict>(judge(two_workers, "relu", Request::compile)).correct());
  EXPECT_TRUE(on_device.empty());
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
    call.request.task.id = std::to_string(i);
    self->send(actor, call);
  }
  deliver_all();
  EXPECT_EQ(judged, (std::vector<std::string>{"0", "1", "2", "3", "4"}));
  const auto status = ask<ActorStatus>(actor, atom::status_v);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->queued, 0U);
  EXPECT_EQ(status->phase, "idle");
}

}  // namespace
}  // namespace warpsmith::actors
