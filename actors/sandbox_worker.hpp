// SPDX-License-Identifier: Apache-2.0
// The thread of a sandbox: one blocking call at a time. Its mailbox holds at most one, because the
// front sends the next only after the answer to the last.
#pragma once

#include "actors/actor_state.hpp"
#include "actors/interfaces.hpp"
#include "actors/sandbox.hpp"

namespace warpsmith::actors {

class SandboxWorkerState : public ActorState {
 public:
  void start(SandboxBackendFactory factory, SandboxSettings settings);
  EvaluateReply evaluate(const EvaluateCall& call);
  caf::result<TaskFacts> ingest(atom::ingest, const Task& task);

 private:
  Result<SandboxBackend*> backend();

  SandboxBackendFactory factory_;
  SandboxSettings settings_;
  std::unique_ptr<SandboxBackend> backend_;
};

SandboxActor::behavior_type sandbox_worker(SandboxActor::stateful_pointer<SandboxWorkerState> self,
                                           Identity identity, SandboxBackendFactory factory,
                                           SandboxSettings settings);

}  // namespace warpsmith::actors
