// SPDX-License-Identifier: Apache-2.0
// The run of a stage that learns from data that exist before it starts: run folder, selection of
// trajectories, steps, checkpoints, Ctrl-C.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "actors/base/gpu_share.hpp"
#include "actors/run/selection.hpp"
#include "commands/signals.hpp"
#include "commands/train/stage_run.hpp"
#include "runtime/config/run_config.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith::commands {
using namespace actors;

struct DataStep {
  std::string text;                       // of the progress line
  std::map<std::string, double> figures;  // by name, for steps.jsonl
  bool skipped = false;                   // its gradient was not finite, so it changed nothing
};

class DataStage {
 public:
  DataStage() = default;
  DataStage(const DataStage&) = delete;
  DataStage& operator=(const DataStage&) = delete;
  virtual ~DataStage() = default;

  virtual bool done() const = 0;
  virtual int64_t step_number() const = 0;
  virtual int64_t steps() const = 0;  // at most
  /// One optimiser step. Requires !done().
  virtual DataStep step() = 0;
  /// Writes a checkpoint into an existing folder; `restore` continues from it.
  virtual Result<void> save(const std::filesystem::path& folder) const = 0;
  virtual Result<void> restore(const std::filesystem::path& folder) = 0;
};

/// What every function here needs to know about a run.
struct DataRun {
  const RunConfig& config;
  const RunPlace& place;
  const Output& output;
  const SignalWait& signals;
  SharedGpu shared = {};  // steps hold a share of it; if it names none, that of the learner's GPU
};

/// The folder of a new run, with its configuration, or the one to resume. `name` is part of a new
/// folder's name if the configuration has none.
Result<RunFolder> open_data_folder(const RunConfig& config, const RunPlace& place,
                                   const std::string& name);

/// Writes the configuration of the run to its folder, once it can no longer be refused.
Result<void> keep_config(const DataRun& run, const RunFolder& folder);

/// Restores the newest checkpoint in the run's folder, if there is one, and writes the
/// configuration. Then trains until the end, the time limit or Ctrl-C, and writes a checkpoint
/// every `ledger.checkpoint_steps` steps and at the end, and a line to steps.jsonl for each step.
/// Fails after `learner.max_skipped` skipped steps in a row. On a GPU, kernels are timed between
/// two steps.
Result<void> run_data_stage(DataStage& stage, const DataRun& run, const RunFolder& folder);

/// Prints that the stage is not finished and how to resume. `when`: "after step 3 of 9".
void print_stopped(const DataRun& run, const RunPaths& paths, const std::string& when);

/// Replaces files of the folder `to` by those that `write` makes in an empty folder. Each file is
/// complete at any time, even after a crash. Other files in `to` stay.
Result<void> replace_files(const std::filesystem::path& to, const CheckpointStore::Writer& write);

/// A run that learns from collected trajectories.
struct SelectedRun {
  std::optional<RunFolder> folder;  // of a resumed run; a new one has none yet
  Selection selection;
};

using SelectTrajectories = std::function<Result<Selection>(const RunConfig&)>;

/// Selects what the run learns from. A run with a checkpoint keeps the selection that it began
/// with; without one nothing was learned, so it selects again. Writes nothing.
Result<SelectedRun> select_trajectories(const DataRun& run, const SelectTrajectories& select);

/// Opens the run's folder and writes the selection into it. Call it once a stage could be made of
/// the selection, so that a selection that is too small leaves no folder. `name` as in
/// `open_data_folder`.
Result<RunFolder> open_selected(SelectedRun selected, const DataRun& run, const std::string& name);

}  // namespace warpsmith::commands
