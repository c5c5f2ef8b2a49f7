// SPDX-License-Identifier: Apache-2.0
// One call of `optimize`: judges what has no verdict yet, decides, writes the result.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "commands/command.hpp"
#include "commands/optimize/result_folder.hpp"

namespace warpsmith::commands {

/// What one call may spend. With a brain it bounds the trajectories; what they find is judged.
struct OptimizeBudget {
  std::optional<int64_t> attempts;                // candidates judged, those of earlier calls too
  std::optional<std::chrono::milliseconds> time;  // of this call; no submission begins after it
};

struct OptimizeCall {
  OptimizeSettings settings;
  ResultFolder folder;
  OptimizeBudget budget;
  std::vector<std::string> overrides;  // of the brain's configuration
  bool is_new = true;                  // the folder is made once the input has been read
  bool json = false;                   // print report.json instead of the text
};

/// Returns the program's exit code; messages go to standard error, the result to standard output.
ExitCode run_optimize(const OptimizeCall& call);

}  // namespace warpsmith::commands
