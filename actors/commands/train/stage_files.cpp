// SPDX-License-Identifier: Apache-2.0
#include "actors/commands/train/stage_files.hpp"

#include "runtime/run/checkpoint.hpp"
#include "runtime/run/trajectory_reader.hpp"

namespace warpsmith::actors {
namespace {

namespace fs = std::filesystem;

constexpr size_t window = 128;  // trajectories that the figures of a training run are means of

/// The newest checkpoint of a run; empty if it made no step. An older one in place of a damaged one
/// would lose steps.
Result<std::string> newest_checkpoint(const RunPaths& paths) {
  const auto store = CheckpointStore::open(paths.checkpoints());
  if (!store) return tl::unexpected(store.error());
  const auto search = store->newest();
  if (!search) return tl::unexpected(search.error());
  if (!search->complaints.empty()) {
    return fail(ErrorCode::corrupt,
                search->complaints.front() + "; --resume trains the lost steps again");
  }
  return search->found ? search->found->folder.string() : std::string{};
}

/// The figures of the first and the last step.
Result<void> add_step_figures(RunDatabase& db, std::map<std::string, double>& figures) {
  const auto metrics = step_metrics(db);
  if (!metrics) return tl::unexpected(metrics.error());
  figures["steps"] = static_cast<double>(metrics->size());
  if (metrics->empty()) return {};
  const auto copy = [&](const std::map<std::string, double>& from, const char* name,
                        const char* as) {
    if (const auto found = from.find(name); found != from.end()) figures[as] = found->second;
  };
  copy(metrics->front(), "explained_variance", "explained_variance_first");
  copy(metrics->back(), "explained_variance", "explained_variance");
  copy(metrics->back(), "entropy", "entropy");
  return {};
}

Result<std::map<std::string, double>> run_figures(const RunPaths& paths, bool learns) {
  auto reader = TrajectoryReader::open(paths);
  if (!reader) return tl::unexpected(std::move(reader.error()));
  const auto rows = reader->closed();
  if (!rows) return tl::unexpected(rows.error());
  std::vector<Outcome> outcomes;
  for (const TrajectoryRow& row : *rows) outcomes.push_back(*row.outcome);
  auto figures = figures_of(outcomes, learns ? window : outcomes.size());
  figures["trajectories"] = static_cast<double>(outcomes.size());
  if (!learns) return figures;
  auto db = RunDatabase::open(paths.database(), SqlAccess::read_only);
  if (!db) return tl::unexpected(std::move(db.error()));
  if (auto added = add_step_figures(*db, figures); !added) return tl::unexpected(added.error());
  return figures;
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
    auto model = newest_checkpoint(paths);
    if (!model) return tl::unexpected(std::move(model.error()));
    record.model = std::move(*model);
  }
  if (!samples(kind)) return record;
  auto figures = run_figures(paths, learns_online(kind));
  if (!figures) return tl::unexpected(std::move(figures.error()));
  record.figures.merge(*figures);
  return record;
}

Inheritance with_stage(Inheritance before, const StageRecord& record) {
  if (!record.model.empty()) before.model = record.model;
  if (!record.critic.empty()) before.critic = record.critic;
  if (record.kind == to_string(Stage::collect)) before.collected.emplace_back(record.run);
  return before;
}

RunConfig inherited(const ChainStage& stage, const Inheritance& from) {
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

}  // namespace warpsmith::actors
