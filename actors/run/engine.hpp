// SPDX-License-Identifier: Apache-2.0
// From a configuration to a running tree of actors: who is spawned, with what.
#pragma once

#include <memory>

#include "actors/ledger/ledger.hpp"
#include "actors/run/run_session.hpp"
#include "actors/supervisor/spawners.hpp"
#include "actors/supervisor/supervisor.hpp"
#include "policy/model/config.hpp"
#include "policy/model/weights.hpp"
#include "policy/text/tokenizer.hpp"
#include "runtime/config/run_config.hpp"
#include "sandbox/service/end_switch.hpp"

namespace warpsmith::actors {

/// What actors share and nobody changes while they run.
struct EngineInputs {
  RunConfig config;
  policy::ModelConfig model;
  policy::ModelWeights weights;  // of the start; a checkpoint replaces them in the learner
  std::shared_ptr<const policy::Tokenizer> tokenizer;
  std::string skill;   // SKILL.md of the contract
  std::string python;  // interpreter that holds torch
  std::vector<Task> tasks;
  std::shared_ptr<LedgerSource> ledger;
  std::shared_ptr<const CheckpointStore> checkpoints;
  Origin origin;
  std::filesystem::path scratch;  // workspaces are made beneath it
  bool learns = true;             // false: weights stay as they are (eval)
  /// Thrown when the run ends: nobody waits for an evaluation that nobody hears of.
  std::shared_ptr<sandbox::EndSwitch> ender = std::make_shared<sandbox::EndSwitch>();
};

/// Refuses what can be sampled with but not trained with; names the key.
Result<void> check_trainable(const RunConfig& config);

/// Reads model, tokenizer, skill and tasks; every error names its file.
Result<EngineInputs> load_inputs(const RunConfig& config,
                                 const std::filesystem::path& model_folder);

Spawners make_spawners(const std::shared_ptr<const EngineInputs>& inputs);
SupervisorSettings supervisor_settings(const RunConfig& config);

/// A tree that runs. Ends when the supervisor says so, or when it is stopped.
class EngineRun {
 public:
  /// The tap outlives every actor.
  EngineRun(const std::shared_ptr<const EngineInputs>& inputs, std::unique_ptr<Tap> tap);
  EngineRun(const EngineRun&) = delete;
  EngineRun& operator=(const EngineRun&) = delete;
  ~EngineRun();

  /// The supervisor's word: phase, counts. An error when it does not answer in time.
  Result<ActorStatus> status(std::chrono::milliseconds bound);
  /// The latest numbers of every actor, from the telemetry.
  Result<Observation> numbers(std::chrono::milliseconds bound);
  /// The ledger's counts.
  Result<LedgerCounts> counts(std::chrono::milliseconds bound);
  /// Asks for a clean stop: what runs stays open on disk, the learner writes a checkpoint.
  void stop();
  /// Admits nothing more; what is in flight is finished and trained.
  void drain();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace warpsmith::actors
