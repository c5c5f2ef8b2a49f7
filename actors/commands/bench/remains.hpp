// SPDX-License-Identifier: Apache-2.0
// What services leave behind once they have ended: processes, control groups, unfinished files.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "actors/commands/bench/fault_figures.hpp"
#include "actors/commands/bench/process_tree.hpp"
#include "runtime/clock.hpp"

namespace warpsmith::actors {

/// Made before anything starts: what was there already is nobody's fault.
class RemainsWatch {
 public:
  /// Unfinished files below `cache`, and every file in `temporary`, count.
  RemainsWatch(std::filesystem::path cache, std::filesystem::path temporary);

  /// What is left at the deadline, or earlier if nothing is.
  Remains look(const ProcessCensus& census, Deadline deadline) const;

 private:
  std::set<std::string> files() const;
  Remains now(const ProcessCensus& census) const;

  std::filesystem::path cache_, temporary_;
  std::set<std::string> files_before_, groups_before_;
};

}  // namespace warpsmith::actors
