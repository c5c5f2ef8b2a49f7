// SPDX-License-Identifier: Apache-2.0
// Candidates of `optimize --brain`: trajectories of a brain or of our own policy on the operator,
// run as an evaluation of one task in the result folder.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "commands/optimize/optimize_settings.hpp"
#include "commands/run_loop.hpp"

namespace warpsmith::commands {

struct BrainCall {
  const OptimizeSettings& settings;
  const ResultFolder& folder;
  std::vector<std::string> overrides;             // --set
  std::optional<int64_t> trajectories;            // those of earlier calls too
  std::optional<std::chrono::milliseconds> time;  // of this call; no trajectory begins after it
};

/// How the asking ended.
struct BrainEnd {
  LoopResult loop;
  std::string contract;  // of what was found
  std::string summary;   // "8 trajectories of NAME, 5 with a submission; 12 requests, …"
};

/// The trajectories of a call that names no number.
inline constexpr int64_t default_trajectories = 8;

/// Runs what is missing of the trajectories and returns once they are over. Each one's best
/// submission is then in `folder.found()`. Makes the run folder; an error before that is bad input.
Result<BrainEnd> ask_brain(const BrainCall& call);

}  // namespace warpsmith::commands
