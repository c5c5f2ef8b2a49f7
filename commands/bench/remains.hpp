// SPDX-License-Identifier: Apache-2.0
// Finds what services left after they ended: processes, control groups, unfinished files.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "commands/bench/fault_figures.hpp"
#include "commands/bench/process_tree.hpp"
#include "runtime/clock.hpp"

namespace warpsmith::commands {

/// Make it before anything starts: it ignores what already exists then.
class RemainsWatch {
 public:
  /// Counts unfinished files below `cache` and all files in `temporary`.
  RemainsWatch(std::filesystem::path cache, std::filesystem::path temporary);

  /// Returns what is left at the deadline; returns earlier if nothing is.
  Remains look(const ProcessCensus& census, Deadline deadline) const;

 private:
  std::set<std::string> files() const;
  Remains now(const ProcessCensus& census) const;

  std::filesystem::path cache_, temporary_;
  std::set<std::string> files_before_, groups_before_;
};

}  // namespace warpsmith::commands
