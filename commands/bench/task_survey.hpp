// SPDX-License-Identifier: Apache-2.0
// Surveys tasks on this machine: which are accepted, and the verdicts on a right and a wrong
// solution of each.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "actors/sandbox/sandbox_backend.hpp"
#include "commands/bench/bench.hpp"
#include "runtime/error_code.hpp"
#include "runtime/task.hpp"

namespace warpsmith::commands {
using namespace actors;

/// The solutions of one task; without files if there is none.
struct SolutionPair {
  Submission right, wrong;
};

/// Reads SOLUTIONS/ID/ and, for the wrong one, the mistake in SOLUTIONS/ID/wrong.json. Either may
/// be missing.
Result<SolutionPair> solutions_of(const Task& task, const std::filesystem::path& solutions,
                                  const std::string& contract);

struct SurveyedTask {
  std::string id;
  std::string refusal;                    // why the task was refused; empty if it was accepted
  std::optional<ErrorCode> refusal_code;  // the kind of error, if it was refused
  double ingest_s = 0;
  std::optional<TaskFacts> facts;
  std::optional<Judgement> right, wrong;
};

/// Whether it was accepted and would pass some wrong answer.
bool is_insensitive(const SurveyedTask& task);

/// Counts over all tasks.
struct SurveyCounts {
  int64_t accepted = 0, refused = 0;
  int64_t insensitive = 0;                                // of the accepted ones
  int64_t right = 0, right_passed = 0, beat_compile = 0;  // by > 5 % at the interval's lower end
  int64_t wrong = 0, wrong_passed = 0;
};

struct Survey {
  std::vector<SurveyedTask> tasks;
  SurveyCounts counts() const;
};

/// Surveys one task. Refusals and verdicts are results; only an unusable service is an error.
Result<SurveyedTask> survey_task(sandbox::Backend& backend, const Task& task,
                                 const SolutionPair& solutions, const BenchProgress& progress);

}  // namespace warpsmith::commands
