// SPDX-License-Identifier: Apache-2.0
#include "actors/sandbox/sandbox.hpp"

#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "actors/sandbox/sandbox_worker.hpp"

namespace warpsmith::actors {
namespace {

/// The reply when the worker itself failed: never a verdict.
EvaluateReply infra_reply(TrajectoryId trajectory, const Error& error) {
  const auto kind =
      error.code == ErrorCode::timeout ? InfraKind::deadline : InfraKind::sandbox_lost;
  return {trajectory, InfraFailure{kind, error.message}};
}

constexpr const char* compile_phase = "compile";

double compile_ms_of(const Verdict& verdict) {
  const auto found = verdict.phase_ms.find(compile_phase);
  return found == verdict.phase_ms.end() ? 0 : found->second;
}

}  // namespace

Station SandboxState::open(const char* name, SandboxBackendFactory factory) {
  const Identity identity{label() + name, tap()};
  const SandboxWork work{std::move(factory), settings_};
  const auto front = caf::actor_cast<SandboxFront>(self_->ctrl());
  return {self_, *this,
          settings_.detached
              ? self_->spawn<caf::detached + caf::linked>(sandbox_worker, identity, work, front)
              : self_->spawn<caf::linked>(sandbox_worker, identity, work, front)};
}

void SandboxState::start(Self self, SandboxBackends backends, SandboxSettings settings) {
  self_ = self;
  settings_ = settings;
  judging_ = open("-worker", std::move(backends.device));
  if (backends.compiler) compiling_ = open("-compiler", std::move(backends.compiler));
}

Error SandboxState::no_room() const {
  return {ErrorCode::capacity, label() + ": its queue is full"};
}

caf::result<EvaluateReply> SandboxState::evaluate(EvaluateCall& call) {
  if (full()) return to_caf(no_room());
  auto promise = self_->make_response_promise<EvaluateReply>();
  if (compiling_.is_open()) {
    compile(promise, call);
  } else {
    judge(promise, call, 0);
  }
  return promise;
}

/// Only a submission that compiles goes to the device, whose worker finds it in the cache.
void SandboxState::compile(Promise promise, const EvaluateCall& call) {
  EvaluateCall only = call;
  only.request = Request::compile;
  auto then = [this, promise, call](Result<EvaluateReply> reply) mutable -> void {
    if (!reply) return (void)promise.deliver(infra_reply(call.trajectory, reply.error()));
    const auto* verdict = std::get_if<Verdict>(&reply->judgement);
    const bool compiled = verdict != nullptr && verdict->correct();
    if (!compiled || call.request == Request::compile)
      return (void)promise.deliver(std::move(*reply));
    judge(promise, call, compile_ms_of(*verdict));
  };
  compiling_.pass<EvaluateReply>(settings_.evaluate_budget, then, only);
}

void SandboxState::judge(Promise promise, const EvaluateCall& call, double compile_ms) {
  auto then = [this, promise, id = call.trajectory,
               compile_ms](Result<EvaluateReply> reply) mutable -> void {
    doing_.clear();
    if (!reply) return (void)promise.deliver(infra_reply(id, reply.error()));
    if (auto* verdict = std::get_if<Verdict>(&reply->judgement)) {
      verdict->phase_ms[compile_phase] += compile_ms;
    }
    promise.deliver(std::move(*reply));
  };
  judging_.pass<EvaluateReply>(settings_.evaluate_budget, then, call);
}

caf::result<TaskFacts> SandboxState::ingest(atom::ingest ask, Task& task) {
  if (full()) return to_caf(no_room());
  auto promise = self_->make_response_promise<TaskFacts>();
  auto then = [this, promise](Result<TaskFacts> facts) mutable -> void {
    doing_.clear();
    if (facts) return (void)promise.deliver(std::move(*facts));
    promise.deliver(to_caf(facts.error()));
  };
  judging_.pass_if_idle<TaskFacts>(settings_.ingest_budget, then, ask, task);
  return promise;
}

void SandboxState::progress(atom::progress /*unused*/, const std::string& line) {
  doing_ = line;
}

void SandboxState::describe(ActorStatus& status) const {
  status.phase = judging_.busy() ? "judging" : compiling_.busy() ? "compiling" : "idle";
  if (judging_.busy() && !doing_.empty()) status.phase = doing_;
  status.queued = judging_.waiting() + compiling_.waiting();
  status.busy_s = judging_.busy_seconds();  // of the device: the front itself only queues
  status.gauges["compiling_seconds"] = compiling_.busy_seconds();
}

SandboxFront::behavior_type sandbox(SandboxState::Self self, Identity identity,
                                    SandboxBackends backends, SandboxSettings settings) {
  adopt(self, std::move(identity));
  self->state.start(self, std::move(backends), settings);
  return {on(self, "status", &SandboxState::status), on(self, "evaluate", &SandboxState::evaluate),
          on(self, "ingest", &SandboxState::ingest), on(self, "progress", &SandboxState::progress)};
}

}  // namespace warpsmith::actors
