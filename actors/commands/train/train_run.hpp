// SPDX-License-Identifier: Apache-2.0
// One run of the engine from the command line: start, progress, Ctrl-C, summary.
#pragma once

#include <string>

#include "actors/commands/command.hpp"
#include "runtime/config/run_config.hpp"

namespace warpsmith::actors {

/// What is printed, and where: progress on standard error, results on standard output.
struct Output {
  bool quiet = false;
  bool json = false;
};

/// A new run of a configuration file, or a folder to go on with.
struct RunPlace {
  std::string config_file;
  std::string resume;
};

/// Trains until every trajectory is trained or dropped, the time limit, or Ctrl-C (once: a clean
/// stop with a checkpoint; twice: at once, and what was answered is on disk all the same).
ExitCode run_training(const RunConfig& config, const RunPlace& place, const Output& output);

}  // namespace warpsmith::actors
