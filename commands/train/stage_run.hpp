// SPDX-License-Identifier: Apache-2.0
// The stages of `train`: what the run of a stage takes and returns, how to run one, how to check
// one before it runs.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "commands/command.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith::commands {

/// What to print: progress on standard error, results on standard output.
struct Output {
  bool quiet = false;
  bool json = false;
};

/// A configuration file for a new run, or a folder to resume.
struct RunPlace {
  std::string config_file;
  std::string resume;
  std::string chain = "";  // the folder of the chain that the run belongs to; empty: none
  /// Called when the run has read everything that its configuration names, before it writes that
  /// configuration to its folder.
  std::function<Result<void>()> on_accepted = nullptr;
};

/// Fails if the accepted configuration cannot be written.
inline Result<void> notify_accepted(const RunPlace& place) {
  return place.on_accepted ? place.on_accepted() : Result<void>{};
}

/// How the run of a stage ended.
struct StageEnd {
  ExitCode code = ExitCode::success;
  bool complete = false;         // false: stopped or failed, to be resumed
  bool stopped = false;          // Ctrl-C came, perhaps too late for this stage
  std::filesystem::path folder;  // of the run; empty if there is none
  /// Those that run.db does not have: "steps", "held_out_loss", …
  std::map<std::string, double> figures = {};
};

/// The run to name in "resume with: …".
inline std::string resumable(const RunPlace& place, const std::filesystem::path& run) {
  return place.chain.empty() ? run.string() : place.chain;
}

/// What to print if a resume finds the stage finished: the key that gives it more to do.
inline std::string nothing_left_text(Stage stage, const std::filesystem::path& run) {
  const char* key = stage == Stage::value     ? "value.epochs"
                    : stage == Stage::collect ? "collect.samples"
                    : samples(stage)          ? "run.trajectories"
                                              : "sft.epochs";
  return "nothing is left to do: the run is finished; to go on, raise " + std::string{key} +
         ": ./warpsmith train --resume " + run.string() + " --set " + key + "=N\n";
}

/// A stage that ended with an error.
inline StageEnd failed_stage(const Error& error) {
  return {.code = report(error)};
}

/// The state to record for the run of a stage.
inline RunState state_after(const StageEnd& end) {
  if (end.complete) return RunState::finished;
  return end.code == ExitCode::success ? RunState::interrupted : RunState::failed;
}

/// What a check of a stage may rely on before the stage runs.
struct StageStart {
  std::filesystem::path resumed_run = {};  // the folder of its run, to be resumed; empty: none
  bool weights_pending = false;  // an earlier stage will make them; model.folder has their shape
};

/// Runs the stage that `config.run.stage` names.
StageEnd run_stage(const RunConfig& config, const RunPlace& place, const Output& output);

/// Fails as `run_stage` would before it makes a file, as far as this is known in advance. Writes
/// nothing. Returns lines to print: what stage `sft` learns from, and which model is replaced.
Result<std::string> check_stage(RunConfig config, const StageStart& start);

/// Writes into the folder of a run without a checkpoint which `sft.data` it learns from. A resume
/// with other content is refused once there is a checkpoint.
Result<void> record_data(const std::filesystem::path& run, const std::filesystem::path& data);

/// Runs `stage` and turns an error of LibTorch into a message without a backtrace that names the
/// stage and how to resume. If a stage that learns from given data runs out of memory, the message
/// also says what to lower.
StageEnd run_reporting_torch_errors(const RunConfig& config,
                                    const std::function<StageEnd()>& stage);

// The stages by kind. `run_stage` calls them.

/// Stage `sft`. Writes the demonstrations if a script is configured, fine-tunes, and saves the
/// model into the run folder and, at the end, into `sft.export_to`. Writes a checkpoint every
/// `ledger.checkpoint_steps` steps and at a stop (Ctrl-C, time limit); a resume continues from the
/// newest as if there had been no stop.
StageEnd run_sft(const RunConfig& config, const RunPlace& place, const Output& output);

/// Fails if the model can learn from none of the demonstrations or, with a script, if the script is
/// missing. Returns how many are kept, as a line to print.
Result<std::string> check_demonstrations(const RunConfig& config);

/// A line that says that the end of the run replaces a model in `sft.export_to`; empty if there is
/// none.
std::string export_note(const SftConfig& config);

/// Stage `rft`, rejection fine-tuning. Learns from the kept trajectories of `rft.runs`, which may
/// be in progress, as `run_sft` does from demonstrations. The run folder's selection.json lists
/// what was kept, and the rest by reason.
StageEnd run_rft(const RunConfig& config, const RunPlace& place, const Output& output);

/// Stage `value`. Trains a critic of `model.folder` on all closed trajectories of `value.runs`,
/// failures too. The critic with the highest explained variance goes into the run folder's critic/,
/// for `learner.critic.folder`.
StageEnd run_value(const RunConfig& config, const RunPlace& place, const Output& output);

/// Stages `warmup` and `agentic`, until every trajectory is trained or dropped, and `collect`,
/// until every one is judged or dropped; the time limit or Ctrl-C ends them early. The first Ctrl-C
/// stops cleanly with a checkpoint; a second ends at once, and acknowledged records stay on disk.
StageEnd run_training(const RunConfig& config, const RunPlace& place, const Output& output);

/// Fails as `run_training` would before it makes its folder. With model.weights = "random" the
/// model's folder need not have weights.
Result<void> check_training(const RunConfig& config);

}  // namespace warpsmith::commands
