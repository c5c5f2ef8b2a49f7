// SPDX-License-Identifier: Apache-2.0
#include "actors/sandbox/sandbox_worker.hpp"

#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"

namespace warpsmith::actors {
namespace {

bool lost(const Judgement& judgement) {
  const auto* failure = std::get_if<InfraFailure>(&judgement);
  return failure != nullptr && failure->kind == InfraKind::sandbox_lost;
}

}  // namespace

void SandboxWorkerState::start(Self self, SandboxWork work, SandboxFront front) {
  self_ = self;
  work_ = std::move(work);
  front_ = std::move(front);
}

Result<SandboxBackend*> SandboxWorkerState::backend() {
  // A backend is lost after a deadline too: that call has its answer, the next needs a new backend.
  if (backend_ && backend_->lost()) backend_.reset();
  if (!backend_) {
    auto made = work_.factory();
    if (!made) return tl::unexpected(std::move(made.error()));
    backend_ = std::move(*made);
    backend_->on_progress(
        [this](const std::string& line) { self_->send(front_, atom::progress_v, line); });
  }
  return backend_.get();
}

EvaluateReply SandboxWorkerState::evaluate(const EvaluateCall& call) {
  auto judge = backend();
  if (!judge) {
    return {call.trajectory, InfraFailure{InfraKind::sandbox_lost, judge.error().message}};
  }
  EvaluateReply reply{call.trajectory, (*judge)->evaluate(call.task, call.submission, call.request,
                                                          work_.settings.evaluate_budget)};
  if (lost(reply.judgement)) {
    log::warn(label() + ": the service ended during a request: " +
              std::get<InfraFailure>(reply.judgement).detail);
    backend_.reset();
  }
  return reply;
}

caf::result<TaskFacts> SandboxWorkerState::ingest(atom::ingest /*unused*/, const Task& task) {
  auto judge = backend();
  if (!judge) return to_caf(judge.error());
  auto facts = (*judge)->ingest(task, work_.settings.ingest_budget);
  if (facts) return std::move(*facts);
  if (facts.error().code == ErrorCode::peer_lost) backend_.reset();
  return to_caf(facts.error());
}

SandboxActor::behavior_type sandbox_worker(SandboxWorkerState::Self self, Identity identity,
                                           SandboxWork work, SandboxFront front) {
  adopt(self, std::move(identity));
  self->state.start(self, std::move(work), std::move(front));
  return {on(self, "status", &SandboxWorkerState::status),
          on(self, "evaluate", &SandboxWorkerState::evaluate),
          on(self, "ingest", &SandboxWorkerState::ingest)};
}

}  // namespace warpsmith::actors
