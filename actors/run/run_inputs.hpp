// SPDX-License-Identifier: Apache-2.0
// What is read before the first actor of a run starts. Nothing changes it while they run.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "actors/base/end_request.hpp"
#include "actors/rollout/rollout.hpp"
#include "actors/run/run_session.hpp"
#include "actors/synthesis/synthesis.hpp"
#include "policy/learn/critic_folder.hpp"
#include "policy/model/config.hpp"
#include "policy/model/weights.hpp"
#include "policy/text/chat_turns.hpp"
#include "policy/text/tokenizer.hpp"
#include "runtime/config/run_config.hpp"
#include "sandbox/service/end_switch.hpp"

namespace warpsmith::actors {

/// Shared by all actors of a run.
struct RunInputs {
  RunConfig config;
  policy::ModelConfig model;
  policy::ModelWeights weights;  // a checkpoint replaces them in the learner; none with a brain
  std::shared_ptr<const policy::CriticWeights> critic;  // likewise; none: a new one
  std::shared_ptr<const policy::Tokenizer> tokenizer;
  policy::ChatFrame frame;           // how the model's family writes messages
  std::vector<int32_t> stop_tokens;  // that end a turn: the chat frame's and the model's own
  std::string skill;                 // SKILL.md of the contract
  std::string python;                // interpreter that has torch
  std::vector<Task> tasks;
  std::shared_ptr<LedgerSource> ledger;
  std::shared_ptr<const CheckpointStore> checkpoints;
  Origin origin;
  RunPaths paths;
  std::filesystem::path scratch;  // parent of the workspaces
  bool learns = true;             // false: the weights stay as they are (eval)
  /// In an evaluation or a collection: how many samples of each task are still missing, and how
  /// many trajectories the run had before.
  std::optional<std::map<std::string, uint64_t>> missing;
  uint64_t admitted_before = 0;
  std::shared_ptr<const OutcomesByTask> history;  // of a resumed run, for its curriculum
  /// Thrown at the end of the run: evaluations under way end at once.
  std::shared_ptr<sandbox::EndSwitch> ender = std::make_shared<sandbox::EndSwitch>();
  /// A brain's way to ask for the end of the run.
  std::shared_ptr<EndRequest> end = std::make_shared<EndRequest>();
  JudgedSubmission judged;  // see RolloutSettings
};

/// Refuses a configuration that can sample but not train; the error names the key.
Result<void> check_trainable(const RunConfig& config);

/// Refuses a held-out task with the same content as a task of the run; the error names both files.
Result<void> check_held_out(const RunInputs& inputs);

/// Refuses a configuration whose trajectories do not show what the policy can do.
Result<void> check_evaluable(const RunConfig& config);

/// Reads model, tokenizer, skill and tasks; every error names its file. The session's fields stay
/// empty, and so do the weights of a start with model.weights = "random".
Result<RunInputs> load_inputs(const RunConfig& config, const std::filesystem::path& model_folder);

/// Draws the weights that `load_inputs` left out.
void add_random_weights(RunInputs& inputs);

/// Reads the critic that `learner.critic.folder` names, if it does; the error names the file.
Result<void> add_critic(RunInputs& inputs);

/// The inputs of a run whose folder is open.
std::shared_ptr<const RunInputs> with_session(RunInputs inputs, const RunSession& session);

}  // namespace warpsmith::actors
