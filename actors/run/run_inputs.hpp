// SPDX-License-Identifier: Apache-2.0
// The inputs read before the first actor of a run starts, including what the run recorded before a
// resume. Constant while the actors run.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/base/end_request.hpp"
#include "actors/ledger/ledger_store.hpp"
#include "actors/rollout/rollout.hpp"
#include "actors/run/run_session.hpp"
#include "actors/synthesis/synthesis.hpp"
#include "policy/learn/critic_folder.hpp"
#include "policy/model/config.hpp"
#include "policy/model/weights.hpp"
#include "policy/text/chat_format.hpp"
#include "policy/text/tokenizer.hpp"
#include "runtime/config/run_config.hpp"
#include "sandbox/service/client.hpp"

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
  /// Set at the end of the run: evaluations in flight end at once.
  std::shared_ptr<sandbox::EndSwitch> ender = std::make_shared<sandbox::EndSwitch>();
  /// Lets a brain ask for the end of the run.
  std::shared_ptr<EndRequest> end = std::make_shared<EndRequest>();
  JudgedSubmission judged;  // see RolloutSettings
};

/// Refuses a configuration that can sample but not train; the error names the key.
Result<void> check_trainable(const RunConfig& config);

/// Refuses a held-out task with the same content as a task of the run; the error names both files.
Result<void> check_held_out(const RunInputs& inputs);

/// Refuses an evaluation whose trajectories would not measure the policy.
Result<void> check_evaluable(const RunConfig& config);

/// Reads model, tokenizer, skill and tasks; every error names its file. The session's fields stay
/// empty, and so do the weights of a start with model.weights = "random".
Result<RunInputs> load_inputs(const RunConfig& config, const std::filesystem::path& model_folder);

/// Draws the weights that `load_inputs` did not read.
void add_random_weights(RunInputs& inputs);

/// Reads the critic that `learner.critic.folder` names, if it does; the error names the file.
Result<void> add_critic(RunInputs& inputs);

/// The inputs of a run whose folder is open.
std::shared_ptr<const RunInputs> with_session(RunInputs inputs, const RunSession& session);

/// A run's records of its tasks from before a resume. Tasks are identified by the hash of their
/// content, so a task whose text has changed has no history.
struct RunHistory {
  OutcomesByTask outcomes;               // in order of admission, without submission hashes
  std::map<std::string, uint64_t> kept;  // by content hash: trajectories that were not dropped
};

Result<RunHistory> read_run_history(RunDatabase& db);

/// Plans the samples of each task that the run still lacks (`samples` minus existing ones), and no
/// other trajectory. `admitted`: trajectories of the run up to now.
void plan_samples(RunInputs& inputs, int64_t samples, const RunHistory& history, uint64_t admitted);

/// Continues a run that trains or collects: the curriculum gets the recorded outcomes, and a
/// collection samples what is missing.
Result<void> add_history(RunInputs& inputs, LedgerStore& store);

}  // namespace warpsmith::actors
