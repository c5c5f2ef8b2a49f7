// SPDX-License-Identifier: Apache-2.0
// What the evaluation of a suite samples: its tasks by level, and the files without a task. It is
// kept as suite.json in the run folder, so that a resume and a report need nothing else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/config/run_config.hpp"
#include "runtime/result.hpp"
#include "runtime/run/run_folder.hpp"
#include "synthesis/task_source.hpp"

namespace warpsmith::commands {

struct SuiteTask {
  std::string id, level, file, content_hash, lane;
  bool operator==(const SuiteTask&) const = default;
};

/// A file of the suite that contains no task, with the reason.
struct BrokenFile {
  std::string level, file, reason;
  bool operator==(const BrokenFile&) const = default;
};

struct SuitePlan {
  std::string suite;    // the folder
  int64_t samples = 1;  // of each task
  std::string numerics, contract;
  std::vector<SuiteTask> tasks;
  std::vector<BrokenFile> broken;

  bool operator==(const SuitePlan&) const = default;
};

/// A task's level is the first folder below the suite; without one, the suite's own name.
std::string level_of(const std::filesystem::path& suite, const std::filesystem::path& file);

/// `samples` of each task in `found`.
SuitePlan plan_suite(const std::filesystem::path& suite, const synthesis::FoundTasks& found,
                     int64_t samples, const RunConfig& config);

std::string to_json(const SuitePlan& plan);
/// The error names the key that is missing or wrong.
Result<SuitePlan> parse_suite_plan(std::string_view text);

std::filesystem::path suite_file(const RunPaths& paths);
/// `not_found`, with the remedy, if the run evaluated no suite.
Result<SuitePlan> read_suite_plan(const RunPaths& paths);

}  // namespace warpsmith::commands
