// SPDX-License-Identifier: Apache-2.0
#include "commands/train/data_run.hpp"

#include <iostream>
#include <optional>

#include "commands/progress.hpp"
#include "commands/train/step_lines.hpp"
#include "actors/protocol/errors.hpp"
#include "policy/learn/placement.hpp"
#include "runtime/clock.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

namespace fs = std::filesystem;

/// A stage and its checkpoints, numbered by optimiser step.
class Checkpointed {
 public:
  Checkpointed(DataStage& stage, const RunConfig& config, CheckpointStore checkpoints)
      : stage_(stage), config_(config), checkpoints_(std::move(checkpoints)) {}

  /// Restores the newest intact checkpoint; starts from the beginning if there is none yet.
  Result<void> restore() {
    const auto search = checkpoints_.newest();
    if (!search) return tl::unexpected(search.error());
    for (const std::string& complaint : search->complaints) std::cerr << complaint << '\n';
    if (!search->found && !search->complaints.empty()) {
      return fail(ErrorCode::corrupt, "no intact checkpoint: " + search->complaints.front());
    }
    if (!search->found) return {};
    if (auto restored = stage_.restore(search->found->folder); !restored) return restored;
    saved_ = stage_.step_number();
    std::cerr << "resuming after step " << saved_ << '/' << stage_.steps() << '\n';
    return checkpoints_.set_aside_after(static_cast<uint32_t>(saved_));
  }

  Result<void> save() {
    const int64_t step = stage_.step_number();
    if (step == saved_) return {};
    const auto written = checkpoints_.write({1, static_cast<uint32_t>(step)},
                                            [this](const fs::path& to) { return stage_.save(to); });
    if (!written) return tl::unexpected(written.error());
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

void show(const DataStage& stage, const std::string& figures, SteadyClock::duration elapsed) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(elapsed);
  std::cerr << "step " << stage.step_number() << '/' << stage.steps() << ' ' << figures << " after "
            << duration_text(whole) << '\n';
}

/// The learner's GPU, of which each step holds a share; nothing on a CPU.
class StepTurns {
 public:
  static Result<StepTurns> open(const DataRun& run) {
    const LearnerConfig& c = run.config.learner;
    SharedGpu shared = run.shared;
    if (c.device == ComputeDevice::cuda) shared.gpu = static_cast<int>(c.gpu);
    try {
      return StepTurns{policy::placement_of(c).device, open_share(shared)};
    } catch (const ActorFailure& failure) {
      return tl::unexpected(failure.error());
    }
  }

  /// Computes the step to its end.
  DataStep step(DataStage& stage) {
    const ShareTurn turn{share_, patience};
    DataStep done = stage.step();
    policy::wait_for(device_);
    return done;
  }

 private:
  static constexpr std::chrono::minutes patience{10};  // for measurements
  StepTurns(at::Device device, std::optional<DeviceShare> share)
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

}  // namespace

Result<RunFolder> open_data_folder(const RunConfig& config, const RunPlace& place,
                                   const std::string& name) {
  if (!place.resume.empty()) return RunFolder::open(place.resume, "config.toml");
  auto folder = RunFolder::create(config.run.folder, config.run.name, name);
  if (!folder) return folder;
  if (auto kept = folder->write_config(to_toml(config)); !kept) return tl::unexpected(kept.error());
  return folder;
}

Result<void> keep_settings(const DataRun& run, const RunFolder& folder) {
  auto kept = accept(run.place);
  return kept ? folder.write_config(to_toml(run.config)) : kept;
}

Result<void> run_data_stage(DataStage& stage, const DataRun& run, const RunFolder& folder) {
  const RunPaths& paths = folder.paths();
  auto checkpoints = CheckpointStore::open(paths.checkpoints());
  if (!checkpoints) return tl::unexpected(std::move(checkpoints.error()));
  Checkpointed checkpointed{stage, run.config, std::move(*checkpoints)};
  if (auto restored = checkpointed.restore(); !restored) return restored;
  if (auto kept = keep_settings(run, folder); !kept) return kept;
  auto lines = StepLines::open(paths.folder / "steps.jsonl", stage.step_number());
  if (!lines) return tl::unexpected(std::move(lines.error()));
  auto turns = StepTurns::open(run);
  if (!turns) return tl::unexpected(std::move(turns.error()));
  SkipLimit skips{run.config.learner.max_skipped};
  const auto begin = SteadyClock::now();
  while (!stage.done()) {
    const DataStep step = turns->step(stage);
    const auto elapsed = SteadyClock::now() - begin;
    const bool is_shown = stage.step_number() % 20 == 1 || stage.done();
    if (!run.output.quiet && is_shown) show(stage, step.text, elapsed);
    if (auto kept = lines->add(stage.step_number(), step); !kept) return kept;
    if (auto good = skips.note(stage.step_number(), step); !good) return good;
    if (auto saved = checkpointed.save_if_due(); !saved) return saved;
    const bool stopped = run.signals.wait(std::chrono::milliseconds{0});
    if (stopped || elapsed > run.config.run.time_limit) break;
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
  const fs::path beside = to.parent_path() / ('.' + to.filename().string() + ".unfinished");
  std::error_code error;
  fs::remove_all(beside, error);
  for (const fs::path& folder : {to, beside}) {
    if (!error) fs::create_directories(folder, error);
  }
  if (error) return fail_with_errno("cannot prepare", to, error.value());
  auto saved = write(beside);
  if (saved) saved = sync_tree(beside);
  return saved ? move_files(beside, to) : saved;
}

}  // namespace warpsmith::commands
