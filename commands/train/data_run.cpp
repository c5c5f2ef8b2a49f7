// SPDX-License-Identifier: Apache-2.0
#include "commands/train/data_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "actors/protocol/errors.hpp"
#include "policy/learn/placement.hpp"
#include "policy/model/libtorch_runtime.hpp"
#include "runtime/clock.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/text.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

namespace fs = std::filesystem;

constexpr size_t max_selection_bytes = size_t{256} << 20U;

/// steps.jsonl: a line of JSON for each step.
class StepLines {
 public:
  /// Keeps the lines of the first `steps` steps; a resume repeats the others.
  static Result<StepLines> open(const fs::path& path, int64_t steps) {
    std::ifstream before{path};
    std::string kept, line;
    for (int64_t step = 0; step < steps && std::getline(before, line); ++step) kept += line + '\n';
    TRY_VOID(write_file_durably(path, kept));
    TRY(auto file, open_file(path, O_WRONLY | O_APPEND));
    return StepLines{path, std::move(file)};
  }

  Result<void> add(int64_t step, const DataStep& done) {
    nlohmann::json line(done.figures);
    line["step"] = step;
    return write_all(file_, line.dump() + '\n', path_);
  }

 private:
  StepLines(fs::path path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}

  fs::path path_;
  UniqueFd file_;
};

/// Counts skipped steps in a row.
class SkipLimit {
 public:
  explicit SkipLimit(int64_t most) : most_(most) {}

  /// Fails once there are `most` in a row.
  Result<void> note(int64_t number, const DataStep& step) {
    in_a_row_ = step.skipped ? in_a_row_ + 1 : 0;
    if (in_a_row_ < most_) return {};
    return fail(ErrorCode::infrastructure,
                fmt::format("step {}: {}; {} steps in a row had gradients that are not finite, as "
                            "learner.max_skipped allows no more; lower the stage's learning_rate",
                            number, step.text, in_a_row_));
  }

 private:
  int64_t most_, in_a_row_ = 0;
};

/// A stage and its checkpoints, numbered by optimiser step.
class Checkpointed {
 public:
  Checkpointed(DataStage& stage, const RunConfig& config, CheckpointStore checkpoints)
      : stage_(stage), config_(config), checkpoints_(std::move(checkpoints)) {}

  /// Restores the newest intact checkpoint; starts from the beginning if there is none yet.
  Result<void> restore() {
    TRY(const auto search, checkpoints_.newest());
    for (const std::string& complaint : search.complaints) std::cerr << complaint << '\n';
    if (!search.found && !search.complaints.empty()) {
      return fail(ErrorCode::corrupt, "no intact checkpoint: " + search.complaints.front());
    }
    if (!search.found) return {};
    TRY_VOID(stage_.restore(search.found->folder));
    saved_ = stage_.step_number();
    std::cerr << "resuming after step " << saved_ << '/' << stage_.steps() << '\n';
    return checkpoints_.set_aside_after(static_cast<uint32_t>(saved_));
  }

  Result<void> save() {
    const int64_t step = stage_.step_number();
    if (step == saved_) return {};
    TRY_VOID(checkpoints_.write({1, static_cast<uint32_t>(step)},
                                [this](const fs::path& to) { return stage_.save(to); }));
    saved_ = step;
    return checkpoints_.prune(static_cast<size_t>(config_.ledger.keep_checkpoints));
  }

  Result<void> save_if_due() {
    return stage_.step_number() - saved_ >= config_.ledger.checkpoint_steps ? save()
                                                                            : Result<void>{};
  }

 private:
  DataStage& stage_;
  const RunConfig& config_;
  CheckpointStore checkpoints_;
  int64_t saved_ = 0;  // step of the newest checkpoint
};

/// The pace of the steps of this process.
class Pace {
 public:
  explicit Pace(int64_t first) : first_(first) {}

  SteadyClock::duration elapsed() const { return SteadyClock::now() - begin_; }
  /// Requires that a step was taken.
  SteadyClock::duration per_step(const DataStage& stage) const {
    return elapsed() / (stage.step_number() - first_);
  }
  /// ", about 40 s left"; empty at the end.
  std::string left_text(const DataStage& stage) const {
    if (stage.done()) return "";
    const auto left = per_step(stage) * (stage.steps() - stage.step_number());
    return ", about " + duration_text(left) + " left";
  }
  /// Writes progress.json, for `runs show`: at the first step, and then every few seconds.
  Result<void> write_if_due(const DataStage& stage, const RunPaths& paths) {
    constexpr std::chrono::seconds interval{5};
    if (elapsed() < due_) return {};
    due_ = elapsed() + interval;
    const std::chrono::duration<double> seconds = per_step(stage);
    const nlohmann::json text{{"steps", stage.steps()}, {"seconds_per_step", seconds.count()}};
    return write_file_durably(paths.folder / "progress.json", text.dump() + '\n');
  }

 private:
  int64_t first_;
  SteadyClock::time_point begin_ = SteadyClock::now();
  SteadyClock::duration due_{};  // of the next write
};

void show(const DataStage& stage, const std::string& figures, const Pace& pace) {
  std::cerr << "step " << stage.step_number() << '/' << stage.steps() << ' ' << figures << " after "
            << duration_text(pace.elapsed()) << pace.left_text(stage) << '\n';
}

/// The learner's device. On a GPU each step holds a share of it, so that kernels are timed between
/// two steps.
class LearnerDevice {
 public:
  static Result<LearnerDevice> open(const DataRun& run) {
    const LearnerConfig& c = run.config.learner;
    SharedGpu shared = run.shared;
    if (c.device == ComputeDevice::cuda) shared.gpu = static_cast<int>(c.gpu);
    try {
      return LearnerDevice{policy::placement_of(c).device, open_share(shared)};
    } catch (const ActorFailure& failure) {
      return tl::unexpected(failure.error());
    }
  }

  /// Runs the step to completion.
  DataStep step(DataStage& stage) {
    const ShareHold turn{share_, share_timeout};
    DataStep done = stage.step();
    policy::wait_for(device_);
    return done;
  }

 private:
  static constexpr std::chrono::minutes share_timeout{10};  // a measurement holds the GPU
  LearnerDevice(at::Device device, std::optional<DeviceShare> share)
      : device_(device), share_(std::move(share)) {}

  at::Device device_;
  std::optional<DeviceShare> share_;
};

Result<void> move_files(const fs::path& from, const fs::path& to) {
  std::error_code error;
  for (const auto& file : fs::directory_iterator{from}) {
    fs::rename(file.path(), to / file.path().filename(), error);
    if (error) return fail_with_errno("cannot write", to / file.path().filename(), error.value());
  }
  fs::remove(from, error);
  return sync_path(to);
}

/// The selection of a run that has a checkpoint; nullopt if it has none yet.
Result<std::optional<Selection>> stored_selection(const RunPaths& paths) {
  TRY(const auto checkpoints, CheckpointStore::open(paths.checkpoints()));
  TRY(const auto steps, checkpoints.steps());
  if (steps.empty()) return std::nullopt;
  const fs::path file = paths.folder / "selection.json";
  TRY(const auto text, read_text_file(file, max_selection_bytes));
  auto selection = selection_from_json(text);
  if (!selection) return fail(file.string(), selection.error());
  return std::optional{std::move(*selection)};
}

/// Prints how many are kept and rejected, and how to read one of each kind.
void print_selection(const Selection& selection) {
  std::cerr << "trajectories: " << selection_text(selection) << '\n';
  for (const SourceSelection& one : selection) {
    const std::string read = "  read one with: ./warpsmith runs trajectories " + one.run.string();
    if (!one.kept.empty()) std::cerr << read << " --show " << one.kept.front() << " (kept)\n";
    for (const auto& [reason, ids] : one.rejected) {
      std::cerr << read << " --show " << ids.front() << " (" << reason << ")\n";
    }
  }
}

}  // namespace

Result<RunFolder> open_data_folder(const RunConfig& config, const RunPlace& place,
                                   const std::string& name) {
  if (!place.resume.empty()) return RunFolder::open(place.resume, "config.toml");
  TRY(auto folder, RunFolder::create(config.run.folder, config.run.name, name));
  TRY_VOID(folder.write_config(to_toml(config)));
  return folder;
}

Result<void> keep_config(const DataRun& run, const RunFolder& folder) {
  auto kept = notify_accepted(run.place);
  return kept ? folder.write_config(to_toml(run.config)) : kept;
}

Result<void> run_data_stage(DataStage& stage, const DataRun& run, const RunFolder& folder) {
  const RunPaths& paths = folder.paths();
  TRY(auto checkpoints, CheckpointStore::open(paths.checkpoints()));
  Checkpointed checkpointed{stage, run.config, std::move(checkpoints)};
  TRY_VOID(checkpointed.restore());
  TRY_VOID(keep_config(run, folder));
  if (stage.done()) std::cerr << nothing_left_text(run.config.run.stage, paths.folder);
  TRY(auto lines, StepLines::open(paths.folder / "steps.jsonl", stage.step_number()));
  TRY(auto device, LearnerDevice::open(run));
  SkipLimit skips{run.config.learner.max_skipped};
  Pace pace{stage.step_number()};
  while (!stage.done()) {
    const DataStep step = device.step(stage);
    const bool is_shown = stage.step_number() % 20 == 1 || stage.done();
    if (!run.output.quiet && is_shown) show(stage, step.text, pace);
    TRY_VOID(lines.add(stage.step_number(), step));
    TRY_VOID(pace.write_if_due(stage, paths));
    TRY_VOID(skips.note(stage.step_number(), step));
    TRY_VOID(checkpointed.save_if_due());
    const bool stopped = run.signals.wait(std::chrono::milliseconds{0});
    if (stopped || pace.elapsed() > run.config.run.time_limit) break;
  }
  return checkpointed.save();
}

void print_stopped(const DataRun& run, const RunPaths& paths, const std::string& when) {
  const fs::path& to = run.config.sft.export_to;
  std::cerr << "stopped " << when << (to.empty() ? "" : ": " + to.string() + " is not written")
            << "; resume with: ./warpsmith train --resume " << resumable(run.place, paths.folder)
            << '\n';
}

Result<void> replace_files(const fs::path& to, const CheckpointStore::Writer& write) {
  const fs::path unfinished = to.parent_path() / ('.' + to.filename().string() + ".unfinished");
  std::error_code error;
  fs::remove_all(unfinished, error);
  for (const fs::path& folder : {to, unfinished}) {
    if (!error) fs::create_directories(folder, error);
  }
  if (error) return fail_with_errno("cannot prepare", to, error.value());
  auto saved = write(unfinished);
  if (saved) saved = sync_tree(unfinished);
  return saved ? move_files(unfinished, to) : saved;
}

Result<SelectedRun> select_trajectories(const DataRun& run, const SelectTrajectories& select) {
  SelectedRun selected;
  if (!run.place.resume.empty()) {
    TRY(auto folder, RunFolder::open(run.place.resume, "config.toml"));
    TRY(auto stored, stored_selection(folder.paths()));
    selected.folder = std::move(folder);
    if (stored) {
      std::cerr << "learns from the trajectories that were selected when the run began\n";
      selected.selection = std::move(*stored);
      return selected;
    }
  }
  TRY(auto selection, select(run.config));
  selected.selection = std::move(selection);
  return selected;
}

Result<RunFolder> open_selected(SelectedRun selected, const DataRun& run, const std::string& name) {
  TRY(auto folder, selected.folder ? Result<RunFolder>{std::move(*selected.folder)}
                                   : open_data_folder(run.config, run.place, name));
  const fs::path file = folder.paths().folder / "selection.json";
  TRY_VOID(write_file_durably(file, to_json(selected.selection)));
  if (!run.output.quiet) print_selection(selected.selection);
  const std::string warning = thin_text(selected.selection);
  if (!warning.empty()) std::cerr << "WARNING: " << warning << '\n';
  return folder;
}

}  // namespace warpsmith::commands
