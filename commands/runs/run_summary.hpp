// SPDX-License-Identifier: Apache-2.0
// The figures of one run as JSON: the same keys for `train --json` and `runs show`.
#pragma once

#include <string>
#include <vector>

#include "runtime/run/run_folder.hpp"
#include "runtime/run/run_listing.hpp"
#include "runtime/run/run_queries.hpp"

namespace warpsmith::commands {

/// Figures that were not measured are null. `indent` −1 writes one line.
std::string summary_json(const RunPaths& paths, const RunSummary& summary, int indent);
/// The same with the keys `events` and `events_left_out`.
std::string summary_json(const RunPaths& paths, const RunSummary& summary, const RunEvents& events,
                         int indent);
/// `runs list --json`: an array on one line, of each run its figures, `running`, and in place of
/// figures that cannot be read `error`. A run without trajectories has neither.
std::string listing_json(const std::vector<RunListing>& runs);

}  // namespace warpsmith::commands
