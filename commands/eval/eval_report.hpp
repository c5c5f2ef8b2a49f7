// SPDX-License-Identifier: Apache-2.0
// Writes the report of `eval`, and reads the rewards of an earlier one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "commands/eval/eval_summary.hpp"
#include "runtime/result.hpp"
#include "runtime/run/run_folder.hpp"

namespace warpsmith::commands {

/// The planned size of an evaluation, and the number of refused tasks.
struct EvalSize {
  uint64_t wanted = 0;         // samples, over all tasks
  uint64_t refused_tasks = 0;  // by the ingest; they have no samples
};

/// The report's text, and what the exit code depends on.
struct EvalReport {
  std::string text;
  uint64_t samples = 0;
  std::map<std::string, std::string> dropped;  // by task: why its newest dropped sample was
};

/// The figures of a finished evaluation as JSON: with `whole` on one line, with tasks, rewards and
/// times; otherwise an indented summary. `before`: outcomes to compare with.
Result<EvalReport> eval_report(const RunPaths& paths, const EvalSize& size,
                               const std::optional<EvalOutcomes>& before, bool whole);

/// The outcomes in the output of `eval --json`. The error names the key that is missing or wrong.
Result<EvalOutcomes> parse_eval_outcomes(std::string_view text);
Result<EvalOutcomes> read_eval_outcomes(const std::filesystem::path& file);

}  // namespace warpsmith::commands
