// SPDX-License-Identifier: Apache-2.0
// What `eval` prints, and what it reads again of an earlier one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "actors/state/eval_summary.hpp"
#include "runtime/result.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith::actors {

/// The figures of a finished evaluation as JSON. `whole`: on one line, with tasks, rewards and
/// times; else a summary to read. `before`: rewards to compare with.
Result<std::string> eval_report(const RunPaths& paths, const std::optional<RewardsByTask>& before,
                                bool whole);

/// Rewards per task out of what `eval --json` printed. The error names the key that is missing or
/// wrong.
Result<RewardsByTask> parse_eval_rewards(std::string_view text);
Result<RewardsByTask> read_eval_rewards(const std::filesystem::path& file);

}  // namespace warpsmith::actors
