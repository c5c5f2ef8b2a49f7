// SPDX-License-Identifier: Apache-2.0
// The worker of a sandbox: one blocking call at a time. Its mailbox holds at most one call, because
// the front sends the next one after the answer.
#pragma once

#include "actors/base/actor_state.hpp"
#include "actors/protocol/interfaces.hpp"
#include "actors/sandbox/sandbox.hpp"

namespace warpsmith::actors {

struct SandboxWork {
  SandboxBackendFactory factory;
  SandboxSettings settings;
};

class SandboxWorkerState : public ActorState {
 public:
  using Self = SandboxActor::stateful_pointer<SandboxWorkerState>;

  void start(Self self, SandboxWork work, SandboxFront front);
  EvaluateReply evaluate(const EvaluateCall& call);
  caf::result<TaskFacts> ingest(atom::ingest, const Task& task);

 private:
  Result<SandboxBackend*> backend();

  Self self_ = nullptr;
  SandboxWork work_;
  SandboxFront front_;
  std::unique_ptr<SandboxBackend> backend_;
};

SandboxActor::behavior_type sandbox_worker(SandboxWorkerState::Self self, Identity identity,
                                           SandboxWork work, SandboxFront front);

}  // namespace warpsmith::actors
