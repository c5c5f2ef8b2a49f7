// SPDX-License-Identifier: Apache-2.0
// The samples that an evaluation's run database holds, as the figures need them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/run/run_database.hpp"

namespace warpsmith::commands {

/// A figure with its 95 % interval, where there is one.
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

struct SuiteRecords {
  std::map<std::string, std::vector<SuiteSample>> samples;  // by task, in order of admission
  std::map<std::string, std::string> dropped;               // by task: why the newest was
  std::map<std::string, std::string> refused;               // by task: the ingest's reason
};

/// The 95 % interval of the median by order statistics: no assumption on the distribution. Empty
/// for fewer than 6 values. Pure.
std::optional<Interval> median_interval(std::vector<double> values);

Result<SuiteRecords> read_suite_records(RunDatabase& db);

}  // namespace warpsmith::commands
