// SPDX-License-Identifier: Apache-2.0
// What the runs of all stages take and return.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "commands/command.hpp"

namespace warpsmith::commands {

/// What to print: progress on standard error, results on standard output.
struct Output {
  bool quiet = false;
  bool json = false;
};

/// A configuration file for a new run, or a folder to resume.
struct RunPlace {
  std::string config_file;
  std::string resume;
  std::string whole = "";  // the chain that the run belongs to; empty: it is a run of its own
  /// Called when the run has read all that its configuration names, before it keeps that
  /// configuration.
  std::function<Result<void>()> accepted = nullptr;
};

/// Fails if the configuration was accepted and cannot be kept.
inline Result<void> accept(const RunPlace& place) {
  return place.accepted ? place.accepted() : Result<void>{};
}

/// How the run of a stage ended.
struct StageEnd {
  ExitCode code = ExitCode::success;
  bool complete = false;         // false: stopped or failed, to be resumed
  bool stopped = false;          // Ctrl-C came, perhaps too late for this stage
  std::filesystem::path folder;  // of the run; empty if there is none
  std::map<std::string, double> figures =
      {};  // that run.db does not have: "steps", "held_out_loss", …
};

/// The run to name in "resume with: …".
inline std::string resumable(const RunPlace& place, const std::filesystem::path& run) {
  return place.whole.empty() ? run.string() : place.whole;
}

/// A stage that ended with an error.
inline StageEnd failed_stage(const Error& error) {
  return {.code = report(error)};
}

}  // namespace warpsmith::commands
