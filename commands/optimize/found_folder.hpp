// SPDX-License-Identifier: Apache-2.0
// The best submission of each trajectory, as folders that `optimize` judges like any candidate.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "actors/protocol/messages.hpp"
#include "runtime/result.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::commands {
using namespace actors;

/// "trajectory-12-turn-3", the name of the folder.
std::string found_name(TrajectoryId id, uint32_t turn);
/// "trajectory 12, turn 3 of RUN"; empty for another name.
std::string origin_of(const std::string& name, const std::filesystem::path& run);

/// Any thread may call it. What an earlier process wrote stays beside what this one writes, since
/// its rank is not known here.
class FoundFolder {
 public:
  explicit FoundFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Writes the files if no earlier verdict on this trajectory is better. A folder is whole or not
  /// there. Compilations alone are left out.
  void judged(TrajectoryId id, uint32_t turn, const EvaluateCall& call, const Verdict& verdict);
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
