// SPDX-License-Identifier: Apache-2.0
// The judged samples of a suite in a run database, and the table of figures computed from them.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "commands/eval/suite_plan.hpp"
#include "runtime/describe.hpp"
#include "runtime/run/run_database.hpp"

namespace warpsmith::commands {

/// A figure with its 95 % interval, if there is one.
struct Measured {
  double value = 0;
  std::optional<Interval> interval;
};

/// One judged sample.
struct SuiteSample {
  TrajectoryId id = 0;
  std::string outcome;         // a verdict class, or "no_submission"
  bool passed = false;         // by the run's numerics
  bool strict_passed = false;  // by numerics `strict`
  std::string trust;           // empty without a verdict
  std::string feedback;        // the first line
  std::optional<Measured> candidate_ms, eager_ms, compile_ms;  // medians over blocks
  std::optional<Measured> speedup_eager, speedup_compile;      // baseline / candidate
};

/// What the run database of an evaluation contains.
struct SuiteRecords {
  std::map<std::string, std::vector<SuiteSample>> samples;  // by task, in order of admission
  std::map<std::string, std::string> dropped;               // by task: why the newest was
  std::map<std::string, std::string> refused;               // by task: the ingest's reason
  std::map<std::string, std::string> insensitive;      // by task: what it cannot tell from right
  std::map<std::string, std::string> without_compile;  // by task: why it lacks that baseline
};

/// The 95 % interval of the median by order statistics, without an assumption on the distribution.
/// Empty for fewer than 6 values.
std::optional<Interval> median_interval(std::vector<double> values);

Result<SuiteRecords> read_suite_records(RunDatabase& db);

/// The p of fast_p: the share that is correct and more than p times as fast (KernelBench).
inline constexpr std::array<double, 4> fast_points{0, 1, 1.5, 2};

/// A share from 0 to 1; empty if nothing was judged.
using Share = std::optional<double>;

/// Against one baseline.
struct SpeedFigures {
  Share faster;                                 // of samples whose whole interval is > 5 % faster
  std::array<Share, 4> fast{}, best_fast{};     // of samples; of tasks, by their best sample
  std::optional<double> geomean, best_geomean;  // over correct samples; over best samples
};

enum class SuiteScope : uint8_t {
  task,
  level,
  all,
  refused,
  sensitive,        // all tasks without the insensitive ones
  sensitive_level,  // those of a level
};
constexpr auto names_of(SuiteScope) {
  return std::to_array<std::string_view>(
      {"task", "level", "all", "refused", "sensitive", "sensitive_level"});
}

/// One line of the table. Rates are means over tasks, so that each task counts the same.
struct SuiteRow {
  SuiteScope scope = SuiteScope::task;
  std::string level, task, numerics;
  size_t tasks = 0;    // with at least one sample
  size_t samples = 0;  // judged
  size_t missing = 0;  // planned but not judged
  size_t correct = 0;
  Share pass_rate;
  std::map<int64_t, std::optional<double>> pass_at;  // by k
  SpeedFigures eager, compile;
  std::optional<SuiteSample> best;  // of a task: the correct sample with the largest speed-up
  std::string trust;                // the classes that occur, joined by '+'
  std::map<std::string, size_t> failures;  // outcome → samples
  std::string insensitive;      // of a task: wrong answers that it cannot tell from right ones
  std::string without_compile;  // of a task: why torch.compile is no baseline
  std::string missing_why;      // of a task with missing samples: why the newest was dropped
  std::string reason;           // of the first failure, else of the newest drop; or of a refusal
};

struct SuiteTable {
  std::vector<int64_t> ks;     // of pass@k
  std::vector<SuiteRow> rows;  // for each numerics: all, levels, tasks; then refusals
};

/// 1 − C(n − c, k) / C(n, k): the unbiased estimator of Chen et al., 2021, equation 1. Empty if
/// k > n.
std::optional<double> pass_at_k(size_t samples, size_t correct, int64_t k);

/// Samples beyond the planned number are left out, the newest first.
SuiteTable suite_table(const SuitePlan& plan, const SuiteRecords& records);

}  // namespace warpsmith::commands
