// SPDX-License-Identifier: Apache-2.0
#include "runtime/run/run_listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace warpsmith {

namespace fs = std::filesystem;

namespace {

constexpr size_t max_names_in_message = 8;

/// True for a run whose database is damaged. Runs without one (chains, stages that learn from given
/// data) can be read.
bool is_unreadable(const RunListing& run) {
  return !run.summary && run.summary.error().code != ErrorCode::not_found;
}

RunListing listing_of(RunPaths paths, uint32_t window) {
  auto summary = read_summary(paths, window);
  const auto owner = owner_of(paths);
  RunStatus status = status_of(paths);
  if (summary && !summary->last_started_at.empty()) status.started = summary->last_started_at;
  return {std::move(paths), owner, std::move(summary), std::move(status)};
}

std::string known_runs(const fs::path& root) {
  const auto runs = list_run_folders(root);
  if (!runs || runs->empty()) return "there are no runs in " + root.string();
  std::string text = "the runs in " + root.string() + " are: ";
  const size_t first =
      runs->size() > max_names_in_message ? runs->size() - max_names_in_message : 0;
  for (size_t i = first; i < runs->size(); ++i) {
    text += (i == first ? "" : ", ") + (*runs)[i].folder.filename().string();
  }
  return text + (first > 0 ? fmt::format(" and {} more", first) : "");
}

}  // namespace

bool is_chain(const RunPaths& paths) {
  std::error_code ignored;
  return fs::is_directory(paths.folder / "stages", ignored);
}

Result<RunSummary> read_summary(const RunPaths& paths, uint32_t window) {
  std::error_code ignored;
  if (!fs::exists(paths.database(), ignored)) {
    return fail(ErrorCode::not_found,
                paths.folder.string() + ": no trajectories: " +
                    (is_chain(paths) ? "a chain has no database; its stages are runs in stages/"
                                     : "a supervised run has no database"));
  }
  TRY(auto db, RunDatabase::open(paths.database(), SqlAccess::read_only));
  return summarize(db, window);
}

Result<RunEvents> read_events(const RunPaths& paths, uint32_t limit) {
  TRY(auto db, RunDatabase::open(paths.database(), SqlAccess::read_only));
  TRY(auto newest, recent_events(db, limit));
  TRY(const auto all, db.connection().integer("SELECT count(*) FROM events"));
  // An event may have been added between the two queries.
  const uint64_t count = std::max(static_cast<uint64_t>(all), uint64_t{newest.size()});
  return RunEvents{std::move(newest), count - std::min<uint64_t>(count, limit)};
}

Result<std::vector<CurvePoint>> read_curve(const RunPaths& paths, uint32_t points) {
  TRY(auto db, RunDatabase::open(paths.database(), SqlAccess::read_only));
  return learning_curve(db, points);
}

Result<std::vector<RunListing>> list_runs(const fs::path& root, uint32_t window) {
  TRY(auto folders, list_run_folders(root));
  std::vector<RunListing> runs;
  for (RunPaths& paths : folders) runs.push_back(listing_of(std::move(paths), window));
  std::ranges::stable_sort(runs, {}, [](const RunListing& run) {
    return std::pair{is_unreadable(run), std::string_view{run.status.started}};
  });
  return runs;
}

Result<RunPaths> find_run(const fs::path& root, std::string_view name) {
  if (name == "latest") {
    TRY(auto runs, list_runs(root, 1));
    const auto newest = std::find_if(runs.rbegin(), runs.rend(),
                                     [](const RunListing& run) { return !is_unreadable(run); });
    if (newest != runs.rend()) return newest->paths;
  }
  for (const fs::path& folder : {root / name, fs::path{name}}) {
    RunPaths paths{folder.has_filename() ? folder : folder.parent_path()};
    if (!name.empty() && holds_run(paths)) return paths;
  }
  return fail(ErrorCode::not_found, "no run '" + std::string(name) + "'; " + known_runs(root));
}

}  // namespace warpsmith
