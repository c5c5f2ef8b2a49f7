// SPDX-License-Identifier: Apache-2.0
// Candidates of `optimize --brain`: trajectories of a brain or of a local policy on the operator,
// run as an evaluation of one task in the result folder; the best submission of each is kept.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "actors/protocol/messages.hpp"
#include "commands/optimize/result_folder.hpp"
#include "commands/run_loop.hpp"
#include "runtime/result.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::commands {
using namespace actors;

/// What one call asks a brain for.
struct BrainCall {
  const OptimizeSettings& settings;
  const ResultFolder& folder;
  std::vector<std::string> overrides;             // --set
  std::optional<int64_t> trajectories;            // those of earlier calls too
  std::optional<std::chrono::milliseconds> time;  // of this call; no trajectory begins after it
};

/// How the run with the brain ended.
struct BrainEnd {
  LoopResult loop;
  std::string contract;  // of the submissions
  std::string summary;   // "8 trajectories of NAME, 5 with a submission; 12 requests, …"
};

/// The number of trajectories if a call names none.
inline constexpr int64_t default_trajectories = 8;

/// Runs the missing trajectories and returns once they are finished. The best submission of each is
/// then in `folder.found()`. Makes the run folder; an error before that is bad input.
Result<BrainEnd> ask_brain(const BrainCall& call);

/// "trajectory-12-turn-3", the name of a submission's folder.
std::string submission_name(TrajectoryId id, uint32_t turn);
/// "trajectory 12, turn 3 of RUN"; empty for any other `name`.
std::string origin_of(const std::string& name, const std::filesystem::path& run);

/// Writes the best submission of each trajectory as a folder, which `optimize` then judges like any
/// candidate. Any thread may call it. Folders of an earlier process stay, since the rank of their
/// verdicts is not known here.
class BestSubmissions {
 public:
  explicit BestSubmissions(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Writes the files if no earlier verdict on this trajectory is better. A folder is complete or
  /// missing. Requests that only compile are ignored.
  void add(TrajectoryId id, uint32_t turn, const sandbox::EvaluateRequest& call,
           const Verdict& verdict);
  /// The first write that failed.
  std::optional<Error> failure() const;

 private:
  struct Best {
    double rank = 0;
    std::string name;  // after the turn in which its files were judged first
    FileSet files;
  };

  mutable std::mutex mutex_;
  std::filesystem::path folder_;
  std::map<TrajectoryId, Best> best_;  // of this process
  std::optional<Error> failure_;
};

}  // namespace warpsmith::commands
