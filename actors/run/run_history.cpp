// SPDX-License-Identifier: Apache-2.0
#include "actors/run/run_history.hpp"

#include <algorithm>

#include "runtime/run/run_queries.hpp"

namespace warpsmith::actors {
namespace {

void add(RunHistory& history, TrajectoryRow row) {
  if (row.drop_reason) return;
  ++history.kept[row.task_hash];
  if (!row.outcome) return;
  row.outcome->source_hash.clear();
  history.outcomes[row.task_hash].push_back(std::move(*row.outcome));
}

}  // namespace

Result<RunHistory> read_run_history(RunDatabase& db) {
  RunHistory history;
  constexpr TrajectoryId batch = 4096;
  for (TrajectoryId first = 1;; first += batch) {
    auto rows = trajectory_rows(db, first, first + batch - 1);
    if (!rows) return tl::unexpected(std::move(rows.error()));
    for (TrajectoryRow& row : *rows) add(history, std::move(row));
    if (rows->size() < batch) return history;
  }
}

void plan_samples(RunInputs& inputs, int64_t samples, const RunHistory& history,
                  uint64_t admitted) {
  const auto wanted = static_cast<uint64_t>(samples);
  uint64_t more = 0;
  inputs.missing.emplace();
  for (const Task& task : inputs.tasks) {
    const auto found = history.kept.find(task.content_hash);
    const uint64_t have = found == history.kept.end() ? 0 : found->second;
    more += (*inputs.missing)[task.id] = wanted - std::min(have, wanted);
  }
  inputs.admitted_before = admitted;
  inputs.config.run.trajectories = static_cast<int64_t>(admitted + more);
}

Result<void> add_history(RunInputs& inputs, LedgerStore& store) {
  auto history = read_run_history(store.database());
  if (!history) return tl::unexpected(std::move(history.error()));
  if (inputs.config.run.stage == Stage::collect) {
    plan_samples(inputs, inputs.config.collect.samples, *history, store.counts().admitted);
  }
  inputs.history = std::make_shared<const OutcomesByTask>(std::move(history->outcomes));
  return {};
}

}  // namespace warpsmith::actors
