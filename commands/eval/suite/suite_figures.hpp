// SPDX-License-Identifier: Apache-2.0
// Computes the figures of a suite from its judged samples. Pure.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "commands/eval/suite/suite_plan.hpp"
#include "commands/eval/suite/suite_records.hpp"

namespace warpsmith::commands {

/// The p of fast_p: the share that is correct and more than p times as fast (KernelBench).
inline constexpr std::array<double, 4> fast_points{0, 1, 1.5, 2};

/// A share from 0 to 1; empty where nothing was judged.
using Share = std::optional<double>;

/// Against one baseline.
struct SpeedFigures {
  Share faster;                                 // of samples whose whole interval is > 5 % faster
  std::array<Share, 4> fast{}, best_fast{};     // of samples; of tasks, by their best sample
  std::optional<double> geomean, best_geomean;  // over correct samples; over best samples
};

enum class SuiteScope : uint8_t { task, level, all, refused };
std::string_view to_string(SuiteScope scope) noexcept;

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
  std::string missing_why;  // of a task with missing samples: why the newest was dropped
  std::string reason;       // of the first failure, else of the newest drop; or of a refusal
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
