// SPDX-License-Identifier: Apache-2.0
// A run's actors: how each is spawned with the settings of the configuration, and the tree of all
// from the supervisor's start to the end of the last actor.
#pragma once

#include <caf/actor_system_config.hpp>
#include <cstdint>
#include <memory>

#include "actors/base/tap.hpp"
#include "actors/protocol/messages.hpp"
#include "actors/run/run_inputs.hpp"
#include "actors/supervisor/supervisor.hpp"

namespace warpsmith::actors {

/// A run's actor system: the messages, the errors, and the threads that all actors without their
/// own thread share. `threads` 0: one per core. An idle worker sleeps until it gets a message, and
/// looks for work to steal every 10 ms; CAF's default is 10,000 times per second.
struct ActorSystemConfig : caf::actor_system_config {
  explicit ActorSystemConfig(int64_t threads);
};

/// How a run spawns each kind of actor; tests replace some of them.
Spawners make_spawners(const std::shared_ptr<const RunInputs>& inputs);

/// A running tree of actors under one supervisor.
class RunTree {
 public:
  /// Spawns the tree; throws std::runtime_error if the supervisor does not start within a minute.
  RunTree(const std::shared_ptr<const RunInputs>& inputs, std::unique_ptr<Tap> tap);
  RunTree(const RunTree&) = delete;
  RunTree& operator=(const RunTree&) = delete;
  /// Ends every actor. After `supervisor.stop_timeout` the tree leaks: its threads may still use
  /// it.
  ~RunTree();

  /// The supervisor's status, with the run's phase and counts. Like the next two, returns an error
  /// if no answer arrives within `bound`.
  Result<ActorStatus> status(std::chrono::milliseconds bound);
  /// The latest numbers of every actor, from the telemetry.
  Result<Observation> numbers(std::chrono::milliseconds bound);
  /// The ledger's counts.
  Result<LedgerCounts> counts(std::chrono::milliseconds bound);
  /// Begins a clean stop: open trajectories stay on disk, the learner writes a checkpoint.
  void stop();
  /// Admits nothing more; trajectories in flight are finished and trained.
  void drain();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace warpsmith::actors
