// SPDX-License-Identifier: Apache-2.0
#include "commands/train/stage_files.hpp"

#include <fmt/format.h>

#include "runtime/run/checkpoint.hpp"
#include "runtime/run/durable_file.hpp"
#include "runtime/run/run_folder.hpp"
#include "runtime/run/trajectory_reader.hpp"

namespace warpsmith::commands {
namespace {

namespace fs = std::filesystem;

constexpr size_t window = 128;  // trajectories that the figures of a training run are means of
constexpr size_t max_record_bytes = size_t{1} << 20U;

/// The newest checkpoint of a run; empty if it made no step. An older one in place of a damaged one
/// would lose steps.
Result<std::string> newest_checkpoint(const RunPaths& paths) {
  TRY(const auto store, CheckpointStore::open(paths.checkpoints()));
  TRY(const auto search, store.newest());
  if (!search.complaints.empty()) {
    return fail(ErrorCode::corrupt,
                search.complaints.front() + "; --resume trains the lost steps again");
  }
  return search.found ? search.found->folder.string() : std::string{};
}

/// The figures of the first and the last step.
Result<void> add_step_figures(RunDatabase& db, std::map<std::string, double>& figures) {
  TRY(const auto metrics, step_metrics(db));
  figures["steps"] = static_cast<double>(metrics.size());
  if (metrics.empty()) return {};
  const auto copy = [&](const std::map<std::string, double>& from, const char* name,
                        const char* as) {
    if (const auto found = from.find(name); found != from.end()) figures[as] = found->second;
  };
  copy(metrics.front(), "explained_variance", "explained_variance_first");
  copy(metrics.back(), "explained_variance", "explained_variance");
  copy(metrics.back(), "entropy", "entropy");
  return {};
}

Result<std::map<std::string, double>> run_figures(const RunPaths& paths, bool learns) {
  TRY(auto reader, TrajectoryReader::open(paths));
  TRY(const auto rows, reader.closed());
  std::vector<Outcome> outcomes;
  outcomes.reserve(rows.size());
  for (const TrajectoryRow& row : rows) outcomes.push_back(*row.outcome);
  auto figures = figures_of(outcomes, learns ? window : outcomes.size());
  figures["trajectories"] = static_cast<double>(outcomes.size());
  if (!learns) return figures;
  TRY(auto db, RunDatabase::open(paths.database(), SqlAccess::read_only));
  TRY_VOID(add_step_figures(db, figures));
  return figures;
}

Result<StageRecord> parsed_record(const fs::path& file) {
  const auto text = read_text_file(file, max_record_bytes);
  return text ? stage_record_from_json(*text) : tl::unexpected(text.error());
}

/// The current record of a stage that samples. If its run was removed, perhaps to save space, the
/// old record is returned.
Result<StageRecord> renewed(StageRecord record, const ChainStage& stage) {
  if (!samples(stage.config.run.stage) || !holds_run({record.run})) return record;
  auto now = record_of(stage, {.folder = record.run});
  if (now && now->model.empty()) now->model = record.model;  // check_present names lost ones
  return now;
}

Result<void> check_present(const StageRecord& record) {
  std::error_code ignored;
  for (const std::string& made : {record.model, record.critic}) {
    if (!made.empty() && !fs::exists(made, ignored)) {
      return fail(ErrorCode::not_found, made + ", which the stage made, is missing");
    }
  }
  return {};
}

/// Reading the checkpoints of a run that is training would remove one that is being written.
Result<void> check_at_rest(const ChainStage& stage, const StagePaths& place) {
  const auto owner = owner_of({place.run()});
  if (!owner || !learns_online(stage.config.run.stage)) return {};
  return fail(
      ErrorCode::locked,
      fmt::format("run folder {} is in use by process {}; resume the chain once that has ended",
                  place.run().string(), *owner));
}

}  // namespace

Result<StageRecord> record_of(const ChainStage& stage, const StageEnd& end) {
  const Stage kind = stage.config.run.stage;
  const RunPaths paths{end.folder};
  StageRecord record{stage.name, std::string{to_string(kind)}, end.folder.string(), {}, {},
                     end.figures};
  if (kind == Stage::sft || kind == Stage::rft) record.model = (end.folder / "model").string();
  if (kind == Stage::value) record.critic = (end.folder / "critic").string();
  if (learns_online(kind)) {
    TRY(auto model, newest_checkpoint(paths));
    record.model = std::move(model);
  }
  if (!samples(kind)) return record;
  TRY(auto figures, run_figures(paths, learns_online(kind)));
  record.figures.merge(figures);
  return record;
}

Result<std::optional<StageRecord>> finished_record(const ChainStage& stage,
                                                   const StagePaths& place) {
  std::error_code ignored;
  if (!fs::exists(place.record(), ignored)) return std::nullopt;
  TRY_VOID(check_at_rest(stage, place));
  auto record = parsed_record(place.record());
  if (record) record = renewed(std::move(*record), stage);
  const auto there = record ? check_present(*record) : tl::unexpected(record.error());
  if (there) return std::optional{std::move(*record)};
  return fail(there.error().code, place.record().string() + ": " + there.error().message +
                                      "; remove this file to run the stage again");
}

ChainArtifacts with_stage(ChainArtifacts before, const StageRecord& record) {
  if (!record.model.empty()) before.model = record.model;
  if (!record.critic.empty()) before.critic = record.critic;
  if (record.kind == to_string(Stage::collect)) before.collected.emplace_back(record.run);
  return before;
}

RunConfig config_with(const ChainStage& stage, const ChainArtifacts& from) {
  RunConfig config = stage.config;
  if (!stage.own_policy && !from.model.empty()) {
    config.model.folder = from.model;
    config.model.weights = InitialWeights::load;
  }
  if (!stage.own_critic && learns_online(config.run.stage) && !from.critic.empty()) {
    config.learner.critic.folder = from.critic;
  }
  if (config.rft.runs.empty()) config.rft.runs = from.collected;
  if (config.value.runs.empty()) config.value.runs = from.collected;
  return config;
}

}  // namespace warpsmith::commands
