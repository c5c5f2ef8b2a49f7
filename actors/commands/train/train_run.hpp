// SPDX-License-Identifier: Apache-2.0
// One training run from the command line: start, progress, Ctrl-C, summary.
#pragma once

#include <string>

#include "actors/commands/command.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

/// What to print: progress on standard error, results on standard output.
struct Output {
  bool quiet = false;
  bool json = false;
};

/// A configuration file for a new run, or a folder to resume.
struct RunPlace {
  std::string config_file;
  std::string resume;
};

/// Trains until every trajectory is trained or dropped, the time limit, or Ctrl-C. The first Ctrl-C
/// stops cleanly with a checkpoint; a second ends at once, and acknowledged records stay on disk.
ExitCode run_training(const RunConfig& config, const RunPlace& place, const Output& output);

}  // namespace warpsmith::actors
