// SPDX-License-Identifier: Apache-2.0
#include "actors/sandbox_worker.hpp"

#include "actors/errors.hpp"
#include "actors/inspect.hpp"

namespace warpsmith::actors {
namespace {

bool lost(const Judgement& judgement) {
  const auto* failure = std::get_if<InfraFailure>(&judgement);
  return failure != nullptr && failure->kind == InfraKind::sandbox_lost;
}

}  // namespace

void SandboxWorkerState::start(SandboxBackendFactory factory, SandboxSettings settings) {
  factory_ = std::move(factory);
  settings_ = settings;
}

Result<SandboxBackend*> SandboxWorkerState::backend() {
  if (!backend_) {
    auto made = factory_();
    if (!made) return tl::unexpected(std::move(made.error()));
    backend_ = std::move(*made);
  }
  return backend_.get();
}

EvaluateReply SandboxWorkerState::evaluate(const EvaluateCall& call) {
  auto judge = backend();
  if (!judge) {
    return {call.trajectory, InfraFailure{InfraKind::sandbox_lost, judge.error().message}};
  }
  EvaluateReply reply{call.trajectory, (*judge)->evaluate(call.task, call.submission, call.request,
                                                          settings_.evaluate_budget)};
  if (lost(reply.judgement)) backend_.reset();  // the next call starts a fresh one
  return reply;
}

caf::result<TaskFacts> SandboxWorkerState::ingest(atom::ingest /*unused*/, const Task& task) {
  auto judge = backend();
  if (!judge) return to_caf(judge.error());
  auto facts = (*judge)->ingest(task, settings_.ingest_budget);
  if (facts) return std::move(*facts);
  if (facts.error().code == ErrorCode::peer_lost) backend_.reset();
  return to_caf(facts.error());
}

SandboxActor::behavior_type sandbox_worker(SandboxActor::stateful_pointer<SandboxWorkerState> self,
                                           Identity identity, SandboxBackendFactory factory,
                                           SandboxSettings settings) {
  adopt(self, std::move(identity));
  self->state.start(std::move(factory), settings);
  return {on(self, "status", &SandboxWorkerState::status),
          on(self, "evaluate", &SandboxWorkerState::evaluate),
          on(self, "ingest", &SandboxWorkerState::ingest)};
}

}  // namespace warpsmith::actors
