// SPDX-License-Identifier: Apache-2.0
// The thread of a sandbox: one blocking call at a time. Its mailbox holds at most one, because the
// front sends the next only after the answer to the last.
#pragma once

#include "actors/base/actor_state.hpp"
#include "actors/protocol/interfaces.hpp"
#include "actors/sandbox/sandbox.hpp"

namespace warpsmith::actors {

/// What a worker drives, and how.
struct SandboxWork {
  SandboxBackendFactory factory;
  SandboxSettings settings;
};

class SandboxWorkerState : public ActorState {
 public:
  using Self = SandboxActor::stateful_pointer<SandboxWorkerState>;

  void start(Self self, SandboxWork work, SandboxActor front);
  EvaluateReply evaluate(const EvaluateCall& call);
  caf::result<TaskFacts> ingest(atom::ingest, const Task& task);
  /// Never sent to it: its own lines go to the front.
  void progress(atom::progress, const std::string& line);

 private:
  Result<SandboxBackend*> backend();

  Self self_ = nullptr;
  SandboxWork work_;
  SandboxActor front_;
  std::unique_ptr<SandboxBackend> backend_;
};

SandboxActor::behavior_type sandbox_worker(SandboxActor::stateful_pointer<SandboxWorkerState> self,
                                           Identity identity, SandboxWork work, SandboxActor front);

}  // namespace warpsmith::actors
