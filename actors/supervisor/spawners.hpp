// SPDX-License-Identifier: Apache-2.0
// How the supervisor makes each kind of actor. A run fills this from its configuration, tests fill
// it with stand-ins.
#pragma once

#include <caf/actor_system.hpp>
#include <functional>

#include "actors/base/actor_state.hpp"
#include "actors/protocol/local_messages.hpp"

namespace warpsmith::actors {

template <class Handle, class... Peers>
using Spawn = std::function<Handle(caf::actor_system&, Identity, Peers...)>;

struct Spawners {
  Spawn<TelemetryActor> telemetry;
  Spawn<LocalWeightStoreActor> weight_store;
  Spawn<LedgerActor> ledger;
  Spawn<SandboxActor, uint32_t> sandbox;  // by slot index
  Spawn<SynthesisActor, std::vector<SandboxActor>> synthesis;
  Spawn<LearnerActor, LedgerActor, LocalWeightStoreActor> learner;  // empty: nothing learns (eval)
  Spawn<GeneratorActor, WeightStoreActor> generator;
  Spawn<ToolExecutorActor> tool_executor;
  Spawn<RolloutActor> rollout;
  Spawn<ComposerActor, uint32_t> composer;  // by index
};

/// Actors of each kind.
struct ActorCounts {
  uint32_t sandboxes = 1;
  uint32_t generators = 1;
  uint32_t tool_executors = 1;
  uint32_t rollouts = 1;
  uint32_t composers = 0;
};

}  // namespace warpsmith::actors
