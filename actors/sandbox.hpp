// SPDX-License-Identifier: Apache-2.0
// Sandbox: the lease of one device. Owns the queue of what is to be judged and a worker with a
// thread of its own; spawned and watched by the supervisor; bounded by `max_queue` (then error
// capacity). When it dies, its process and jails die with it and askers get an infrastructure
// failure.
#pragma once

#include <deque>
#include <functional>

#include "actors/actor_state.hpp"
#include "actors/interfaces.hpp"
#include "actors/sandbox_backend.hpp"

namespace warpsmith::actors {

struct SandboxSettings {
  size_t max_queue = 256;                             // waiting requests
  std::chrono::milliseconds evaluate_budget{60'000};  // one evaluation, compile included
  std::chrono::milliseconds ingest_budget{300'000};   // one ingest, torch.compile's start included
  bool detached = true;                               // tests keep the worker in the pool
};

class SandboxState : public ActorState {
 public:
  using Self = SandboxActor::stateful_pointer<SandboxState>;

  void start(Self self, SandboxBackendFactory factory, SandboxSettings settings);
  caf::result<EvaluateReply> evaluate(EvaluateCall& call);
  caf::result<TaskFacts> ingest(atom::ingest, Task& task);

 private:
  void describe(ActorStatus& status) const override;
  /// Queues a call to the worker; `failed` makes the answer out of an error.
  template <class Out, class Failed, class... Call>
  caf::result<Out> enqueue(std::chrono::milliseconds budget, Failed failed, Call... call);
  void next();

  Self self_ = nullptr;
  SandboxSettings settings_;
  SandboxActor worker_;
  std::deque<std::function<void()>> waiting_;
  bool busy_ = false;
};

/// The front: answers status at once and queues; its worker blocks on the device.
SandboxActor::behavior_type sandbox(SandboxActor::stateful_pointer<SandboxState> self,
                                    Identity identity, SandboxBackendFactory factory,
                                    SandboxSettings settings);

}  // namespace warpsmith::actors
