// SPDX-License-Identifier: Apache-2.0
// A run's actors, from the supervisor's start to the end of the last one.
#pragma once

#include <memory>

#include "actors/base/tap.hpp"
#include "actors/protocol/messages.hpp"
#include "actors/run/run_inputs.hpp"

namespace warpsmith::actors {

/// A running tree of actors under one supervisor.
class RunTree {
 public:
  /// Spawns the tree; throws std::runtime_error when the supervisor does not start within a minute.
  RunTree(const std::shared_ptr<const RunInputs>& inputs, std::unique_ptr<Tap> tap);
  RunTree(const RunTree&) = delete;
  RunTree& operator=(const RunTree&) = delete;
  /// Ends every actor. After `supervisor.stop_timeout` the tree leaks: its threads may still use
  /// it.
  ~RunTree();

  /// The supervisor's status, with the run's phase and counts. Like the two below, an error when no
  /// answer came within `bound`.
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
