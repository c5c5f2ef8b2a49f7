// SPDX-License-Identifier: Apache-2.0
// The run of a stage that learns from data which are there before it starts: steps, checkpoints,
// Ctrl-C.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "actors/base/gpu_share.hpp"
#include "commands/signals.hpp"
#include "commands/train/stage_end.hpp"
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

/// What a run was asked for.
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

/// Keeps the configuration of a resume, which is not refused any more.
Result<void> keep_settings(const DataRun& run, const RunFolder& folder);

/// Restores the newest checkpoint in the run's folder, if there is one, and keeps the configuration
/// of a resume, which could be read to its end by then. Then trains until the end, the time limit
/// or Ctrl-C, and writes a checkpoint every `ledger.checkpoint_steps` steps and at the end, and a
/// line to steps.jsonl for each step. Fails after `learner.max_skipped` skipped steps in a row. On
/// a GPU, kernels are timed between two steps.
Result<void> run_data_stage(DataStage& stage, const DataRun& run, const RunFolder& folder);

/// Reports that the stage is not finished, and how to go on. `when`: "after step 3 of 9".
void print_stopped(const DataRun& run, const RunPaths& paths, const std::string& when);

/// Replaces the files of the folder `to` by those that `write` makes in an empty folder: each is
/// whole, whatever happens. Other files in `to` stay.
Result<void> replace_files(const std::filesystem::path& to, const CheckpointStore::Writer& write);

}  // namespace warpsmith::commands
