// SPDX-License-Identifier: Apache-2.0
// Sandbox: the lease of one device. Owns the queues of requests to compile and to judge, and a
// worker with its own thread for each; spawned and watched by the supervisor; bounded by
// `max_queue` (then error capacity). When it dies, its processes and jails die with it and askers
// get an infrastructure failure.
#pragma once

#include "actors/base/actor_state.hpp"
#include "actors/protocol/interfaces.hpp"
#include "actors/sandbox/sandbox_backend.hpp"
#include "actors/sandbox/sandbox_station.hpp"

namespace warpsmith::actors {

struct SandboxSettings {
  size_t max_queue = 256;                             // waiting requests
  std::chrono::milliseconds evaluate_budget{60'000};  // one evaluation, compile included
  std::chrono::milliseconds ingest_budget{300'000};   // one ingest, torch.compile's start included
  bool detached = true;                               // false (tests): workers run in the pool
};

/// The backends of the two workers. Without a compiler the device's worker compiles too.
struct SandboxBackends {
  SandboxBackendFactory device;
  SandboxBackendFactory compiler;  // off the device's cores; fills the cache that both share
};

class SandboxState : public ActorState {
 public:
  using Self = SandboxFront::stateful_pointer<SandboxState>;

  void start(Self self, SandboxBackends backends, SandboxSettings settings);
  caf::result<EvaluateReply> evaluate(EvaluateCall& call);
  caf::result<TaskFacts> ingest(atom::ingest, Task& task);
  void progress(atom::progress, const std::string& line);

 private:
  using Promise = caf::typed_response_promise<EvaluateReply>;

  void describe(ActorStatus& status) const override;
  Station open(const char* name, SandboxBackendFactory factory);
  bool full() const { return compiling_.waiting() + judging_.waiting() >= settings_.max_queue; }
  Error no_room() const;
  void compile(Promise promise, const EvaluateCall& call);
  void judge(Promise promise, const EvaluateCall& call, double compile_ms);

  Self self_ = nullptr;
  SandboxSettings settings_;
  Station compiling_, judging_;
  std::string doing_;  // a worker's latest line about the call in hand
};

/// The front: queues requests and answers status at once, while its workers block on compiler and
/// device. One submission is compiled while another is judged.
SandboxFront::behavior_type sandbox(SandboxState::Self self, Identity identity,
                                    SandboxBackends backends, SandboxSettings settings);

}  // namespace warpsmith::actors
