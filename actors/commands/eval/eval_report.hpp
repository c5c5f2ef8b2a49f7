// SPDX-License-Identifier: Apache-2.0
// What `eval` prints, and what it reads again of an earlier one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "actors/commands/eval/eval_summary.hpp"
#include "runtime/result.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith::actors {

/// What an evaluation was to be, and what of it never came.
struct EvalExtent {
  uint64_t wanted = 0;         // samples, over all tasks
  uint64_t refused_tasks = 0;  // by the ingest: they have no sample
};

/// What is printed, and how many samples it rests on.
struct EvalReport {
  std::string text;
  uint64_t samples = 0;
};

/// The figures of a finished evaluation as JSON. `whole`: on one line, with tasks, rewards and
/// times; else a summary to read. `before`: rewards to compare with.
Result<EvalReport> eval_report(const RunPaths& paths, const EvalExtent& extent,
                               const std::optional<RewardsByTask>& before, bool whole);

/// Rewards per task out of what `eval --json` printed. The error names the key that is missing or
/// wrong.
Result<RewardsByTask> parse_eval_rewards(std::string_view text);
Result<RewardsByTask> read_eval_rewards(const std::filesystem::path& file);

}  // namespace warpsmith::actors
