// SPDX-License-Identifier: Apache-2.0
// Which runs there are, and which one a user means.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/run/run_folder.hpp"
#include "runtime/run/run_queries.hpp"

namespace warpsmith {

/// One line of `runs list`. A run whose database cannot be read is listed with the reason.
struct RunListing {
  RunPaths paths;
  std::optional<int> owner;  // process that runs it now
  Result<RunSummary> summary;
};

/// All runs below `root`, oldest first by when they started (unreadable ones last).
Result<std::vector<RunListing>> list_runs(const std::filesystem::path& root, uint32_t window = 128);

/// A summary read without disturbing the run's owner. `not_found`: there is no database, as in a
/// supervised run.
Result<RunSummary> read_summary(const RunPaths& paths, uint32_t window = 128);

/// What the ledger noted beside the trajectories: restarts, refused tasks, why a run gave up.
struct RunEvents {
  std::vector<EventRow> newest;  // oldest first
  uint64_t left_out = 0;         // that are older
};
Result<RunEvents> read_events(const RunPaths& paths, uint32_t limit);

/// The run that `name` means: a folder's path, a name below `root`, or "latest". `not_found` says
/// which runs there are.
Result<RunPaths> find_run(const std::filesystem::path& root, std::string_view name);

}  // namespace warpsmith
