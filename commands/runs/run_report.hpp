// SPDX-License-Identifier: Apache-2.0
// A run for people, as a page, and for programs, as JSON: the same keys in `train --json`, `runs
// show` and `runs list`. Pure, except for `composed_text`.
#pragma once

#include <string>
#include <vector>

#include "runtime/run/run_folder.hpp"
#include "runtime/run/run_listing.hpp"
#include "runtime/run/run_queries.hpp"

namespace warpsmith::commands {

/// What the page shows.
struct RunPage {
  std::string name;
  RunState state = RunState::stopped;
  RunSummary summary;
  std::vector<CurvePoint> curve;  // a character of the sparklines each
  RunEvents events;
  std::string composed;  // see `composed_text`
};

/// The mean rewards of the first and the last 128 trajectories; of at most 128, one mean.
std::string rewards_text(const RunSummary& summary);

/// The page, with control characters made visible. "-" means: not measured.
std::string page_text(const RunPage& page);

/// A bar per value, from the lowest block for `low` to a full one for `high`.
std::string sparkline(const std::vector<double>& values, double low, double high);

/// Figures that were not measured are null. `indent` −1 writes one line.
std::string summary_json(const RunPaths& paths, const RunSummary& summary, int indent);
/// The same with the keys `state`, `events` and `events_left_out`.
std::string summary_json(const RunPaths& paths, const RunSummary& summary, const RunEvents& events,
                         int indent);
/// "2026-01-31 12:34" of a timestamp; "-" if there is none.
std::string minute_text(const std::string& timestamp);
/// `runs list --json`: an array on one line, of each run its figures, `running`, `state`, and in
/// place of figures that cannot be read `error`. A run without trajectories has neither.
std::string listing_json(const std::vector<RunListing>& runs);

/// Reads the run's funnel: the number of composed candidates for tasks after each filter, on one
/// line, or why it cannot be read; empty for a run that composed nothing.
std::string composed_text(const RunPaths& run);

}  // namespace warpsmith::commands
