// SPDX-License-Identifier: Apache-2.0
// Lists the runs, and finds the one that a user names.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/run/run_folder.hpp"
#include "runtime/run/run_queries.hpp"

namespace warpsmith {

/// One line of `runs list`. If the run's database cannot be read, `summary` says why.
struct RunListing {
  RunPaths paths;
  std::optional<int> owner;  // the process that runs it now
  Result<RunSummary> summary;
  RunStatus status = {};
};

/// True if the run is a chain, whose stages are separate runs.
bool is_chain(const RunPaths& paths);

/// All runs and chains below `root`, sorted by their newest start (a resume is one), oldest first;
/// unreadable ones last.
Result<std::vector<RunListing>> list_runs(const std::filesystem::path& root, uint32_t window = 128);

/// Reads a summary without disturbing the run's owner. `not_found` if there is no database, as in a
/// supervised run.
Result<RunSummary> read_summary(const RunPaths& paths, uint32_t window = 128);

/// The events that the ledger recorded: restarts, refused tasks, the failure that ended the run.
struct RunEvents {
  std::vector<EventRow> newest;  // oldest first
  uint64_t left_out = 0;         // number of older events
};
Result<RunEvents> read_events(const RunPaths& paths, uint32_t limit);

/// `learning_curve` of a run on disk.
Result<std::vector<CurvePoint>> read_curve(const RunPaths& paths, uint32_t points);

/// Finds a run by a folder's path, a name below `root`, or "latest": the run or chain that was
/// started or resumed last, whatever its state. `not_found` lists the runs.
Result<RunPaths> find_run(const std::filesystem::path& root, std::string_view name);

}  // namespace warpsmith
