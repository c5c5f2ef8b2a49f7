// SPDX-License-Identifier: Apache-2.0
// The figures of one run as JSON: the same keys for `train --json` and `runs show`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "runtime/run/run_folder.hpp"
#include "runtime/run/run_queries.hpp"

namespace warpsmith::actors {

/// What was not measured is null.
nlohmann::json summary_json(const RunPaths& paths, const RunSummary& summary);

}  // namespace warpsmith::actors
