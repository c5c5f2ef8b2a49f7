// SPDX-License-Identifier: Apache-2.0
#include "commands/train/chain_run.hpp"

#include <fmt/format.h>

#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "actors/run/run_session.hpp"
#include "actors/sandbox/slot_cores.hpp"
#include "commands/train/stage_files.hpp"
#include "commands/train/stage_run.hpp"
#include "policy/model/libtorch_runtime.hpp"
#include "runtime/log.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

namespace fs = std::filesystem;

/// True if there is a run to resume, even a damaged one. Removes a folder without a run, which an
/// interrupted start left.
bool has_run(const StagePaths& place) {
  const RunPaths paths{place.run()};
  std::error_code error;
  for (const fs::path& file : {paths.config(), paths.database()}) {
    if (fs::exists(file, error) || error) return true;
  }
  fs::remove_all(place.run(), error);
  return false;
}

/// Refuses overrides that the interrupted stage cannot continue with. A finished stage accepts any.
Result<void> check_unchanged(const StagePaths& place, const RunConfig& config) {
  std::error_code ignored;
  if (fs::exists(place.record(), ignored)) return {};
  return check_sampling(place.run(), config, "set it for the other stages by stage.NAME.KEY");
}

Result<void> write_configs(const RunFolder& folder, const RunConfig& config,
                           const std::vector<ChainStage>& stages) {
  const fs::path root = folder.paths().folder / "stages";
  std::error_code error;
  fs::create_directories(root, error);
  if (error) return fail_with_errno("cannot make the folder", root, error.value());
  for (size_t i = 0; i < stages.size(); ++i) {
    const fs::path file = stage_paths(folder.paths().folder, i, stages[i].name).config();
    TRY_VOID(write_file_durably(file, to_toml(stages[i])));
  }
  return folder.write_config(to_toml(config));  // last: with it the folder is a chain to resume
}

/// A resumed chain keeps its configurations until its first stage has accepted the new ones.
Result<RunFolder> open_chain(const RunConfig& config, const RunPlace& place,
                             const std::vector<ChainStage>& stages) {
  if (!place.resume.empty()) return RunFolder::open(place.resume, "config.toml");
  TRY(auto folder, RunFolder::create(config.run.folder, config.run.name,
                                     fs::path{place.config_file}.stem().string()));
  TRY_VOID(write_configs(folder, config, stages));
  return folder;
}

/// Where a stage begins, in words.
std::string start_text(const RunConfig& config) {
  const bool draws = config.model.weights == InitialWeights::random;
  const bool values = learns_online(config.run.stage) || config.run.stage == Stage::value;
  const std::string critic = values ? config.learner.critic.folder.string() : "";
  return (draws ? "random weights in the shape of " : "the policy in ") +
         config.model.folder.string() + (critic.empty() ? "" : " and the critic in " + critic);
}

/// LibTorch caches memory that a stage freed, but the next stage's engines and sandboxes allocate
/// outside of that cache.
void release_memory(const RunConfig& config) {
  const bool learned = config.run.stage != Stage::collect;
  if (!learned || config.learner.device != ComputeDevice::cuda) return;
  policy::release_unused_memory(at::kCUDA);
  policy::release_unused_host_memory(at::kCUDA);
}

class Chain {
 public:
  /// `keep` writes the configurations of a resumed chain.
  Chain(const fs::path& folder, const Output& output, std::function<Result<void>()> keep)
      : folder_(fs::absolute(folder)), output_(output), keep_(std::move(keep)) {}

  /// Runs one stage, or takes over the result of an earlier process. Returns false if the stage
  /// failed or Ctrl-C was pressed.
  Result<bool> advance(const ChainStage& stage, size_t index, size_t count) {
    const StagePaths place = stage_paths(folder_, index, stage.name);
    TRY(auto stored, finished_record(stage, place));
    const std::string title = fmt::format("stage {}/{} {}", index + 1, count, stage.name);
    std::cerr << title << (stored ? ": done before" : "") << '\n';
    const bool is_last = index + 1 == count;
    if (stored) {
      take(std::move(*stored), is_last);
      return true;
    }
    return run(stage, place, is_last);
  }

  ExitCode code() const { return code_; }

  Result<void> finish() const {
    const std::string table = table_text(records_);
    TRY_VOID(write_file_durably(folder_ / "table.txt", table));
    std::cerr << '\n' << table;
    if (!has_run_one_) std::cerr << "nothing was left to do: all stages were finished\n";
    if (output_.json) print_json();
    return {};
  }

 private:
  Result<bool> run(const ChainStage& stage, const StagePaths& place, bool is_last) {
    has_run_one_ = true;
    RunConfig config = config_with(stage, artifacts_);
    std::cerr << "from " << start_text(config) << '\n';
    config.run.folder = place.root;
    config.run.name = place.name;
    config.run.seed = stage_seed(stage);
    RunPlace where{place.name, "", folder_.string(), keep_};
    if (has_run(place)) where.resume = place.run().string();
    log::start({.level = log::Level::warn});  // an earlier stage's log is complete
    if (!samples(stage.config.run.stage)) use_allowed_cores();  // an earlier stage left some
    const StageEnd end = run_stage(config, where, {output_.quiet, false});
    code_ = end.code;
    if (!end.complete) return false;
    release_memory(config);
    TRY(auto record, record_of(stage, end));
    TRY_VOID(write_file_durably(place.record(), to_json(record)));
    take(std::move(record), is_last);
    if (end.stopped) {
      std::cerr << "stopped after stage " << stage.name
                << "; resume with: ./warpsmith train --resume " << folder_.string() << '\n';
    }
    return !end.stopped;
  }

  void take(StageRecord record, bool is_last) {
    const std::string warning = is_last ? "" : warning_of(record);
    if (!warning.empty()) std::cerr << "WARNING: " << warning << '\n';
    artifacts_ = with_stage(std::move(artifacts_), record);
    records_.push_back(std::move(record));
  }

  void print_json() const {
    nlohmann::json list = nlohmann::json::array();
    for (const StageRecord& record : records_)
      list.push_back(nlohmann::json::parse(to_json(record)));
    std::cout << nlohmann::json{{"run", folder_.string()}, {"stages", list}}.dump() << '\n';
  }

  fs::path folder_;
  Output output_;
  std::function<Result<void>()> keep_;
  ChainArtifacts artifacts_;
  std::vector<StageRecord> records_;
  bool has_run_one_ = false;
  ExitCode code_ = ExitCode::success;
};

bool makes_policy(Stage kind) {
  return kind == Stage::sft || kind == Stage::rft || learns_online(kind);
}

Result<std::optional<StageRecord>> no_record() {
  return std::nullopt;
}

/// Walks along the chain and tracks what each stage will start from.
class UnfinishedStages {
 public:
  UnfinishedStages(fs::path folder, const StageVisitor& visit)
      : folder_(std::move(folder)), visit_(visit) {}

  Result<void> pass(const ChainStage& stage, size_t index) {
    const StagePaths place = stage_paths(folder_, index, stage.name);
    TRY(const auto record, folder_.empty() ? no_record() : finished_record(stage, place));
    if (record) {
      known_ = with_stage(std::move(known_), *record);
      return {};
    }
    const bool has_begun = !folder_.empty() && holds_run({place.run()});
    return visit_one(stage, has_begun ? place.run() : fs::path{});
  }

 private:
  Result<void> visit_one(const ChainStage& stage, const fs::path& resumed_run) {
    const RunConfig config = config_with(stage, known_);
    const bool weights_pending = policy_pending_ && !stage.own_policy;
    if (auto good = visit_(stage.name, config, {resumed_run, weights_pending}); !good) {
      return fail("stage " + stage.name, good.error());
    }
    if (makes_policy(config.run.stage)) {
      policy_pending_ = true;
      known_.model = config.model.folder;  // the shape and the tokenizer of what it will make
    }
    return {};
  }

  fs::path folder_;
  const StageVisitor& visit_;
  ChainArtifacts known_;
  bool policy_pending_ = false;  // an earlier stage will make the policy: no weights yet
};

/// Fails if a stage that is not finished could not begin: folders, files, devices and runs that its
/// configuration names.
Result<void> check_unfinished(const std::vector<ChainStage>& stages, const fs::path& folder) {
  return visit_unfinished_stages(
      stages, folder,
      [](const std::string&, const RunConfig& config, const StageStart& start) -> Result<void> {
        TRY_VOID(check_stage(config, start));
        return {};
      });
}

}  // namespace

Result<std::vector<ChainStage>> stages_of(const RunConfig& config, const RunPlace& place,
                                          const std::vector<std::string>& overrides) {
  if (place.resume.empty()) return load_chain(place.config_file, overrides, config.run.stages);
  std::vector<ChainStage> stages;
  for (size_t i = 0; i < config.run.stages.size(); ++i) {
    const std::string& name = config.run.stages[i];
    const StagePaths own = stage_paths(place.resume, i, name);
    TRY(auto stage, load_stage(own.config(), overrides, name));
    TRY_VOID(check_unchanged(own, stage.config));
    stages.push_back(std::move(stage));
  }
  TRY_VOID(check_chain(stages));
  return stages;
}

ExitCode run_chain(const RunConfig& config, const RunPlace& place, const Output& output,
                   const std::vector<std::string>& overrides) {
  const auto stages = stages_of(config, place, overrides);
  if (!stages) return report(stages.error());
  if (auto good = check_unfinished(*stages, place.resume); !good) return report(good.error());
  auto folder = open_chain(config, place, *stages);
  if (!folder) return report(folder.error());
  std::function<Result<void>()> keep;
  if (!place.resume.empty()) keep = [&] { return write_configs(*folder, config, *stages); };
  Chain chain{folder->paths().folder, output, keep};
  for (size_t i = 0; i < stages->size(); ++i) {
    const auto complete = chain.advance((*stages)[i], i, stages->size());
    if (!complete) return report(complete.error());
    if (*complete) continue;
    if (chain.code() == ExitCode::success) folder->end_as(RunState::interrupted);
    return chain.code();
  }
  if (auto finished = chain.finish(); !finished) return report(finished.error());
  folder->end_as(RunState::finished);
  return ExitCode::success;
}

Result<void> visit_unfinished_stages(const std::vector<ChainStage>& stages, const fs::path& folder,
                                     const StageVisitor& visit) {
  UnfinishedStages unfinished{folder, visit};
  for (size_t i = 0; i < stages.size(); ++i) {
    TRY_VOID(unfinished.pass(stages[i], i));
  }
  return {};
}

}  // namespace warpsmith::commands
