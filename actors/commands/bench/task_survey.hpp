// SPDX-License-Identifier: Apache-2.0
// What a folder of tasks is like on this machine: which are taken in, and what verdicts a right and
// a wrong solution of each earn.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "actors/commands/bench/commit_honesty.hpp"
#include "actors/sandbox/sandbox_backend.hpp"
#include "runtime/task.hpp"

namespace warpsmith::actors {

/// The solutions of one task; an empty file set: there is none.
struct SolutionPair {
  Submission right, wrong;
};

/// SOLUTIONS/ID/ and, of the wrong one, SOLUTIONS/ID/wrong/. A folder that is not there is no
/// error.
Result<SolutionPair> solutions_of(const Task& task, const std::filesystem::path& solutions,
                                  const std::string& contract);

struct SurveyedTask {
  std::string id;
  std::string refusal;  // why it was not taken in; empty: it was
  double ingest_s = 0;
  std::optional<TaskFacts> facts;
  std::optional<Judgement> right, wrong;
};

/// Of all tasks; see `Survey::counts`.
struct SurveyCounts {
  int64_t taken_in = 0, refused = 0;
  int64_t right = 0, right_passed = 0, beat_compile = 0;  // by more than 5 %, on the lower bound
  int64_t wrong = 0, wrong_passed = 0;
};

struct Survey {
  std::vector<SurveyedTask> tasks;
  SurveyCounts counts() const;
};

/// Refusals and verdicts are results; only a service that cannot be used is an error.
Result<SurveyedTask> survey_task(SandboxBackend& backend, const Task& task,
                                 const SolutionPair& solutions, const BenchProgress& progress);

}  // namespace warpsmith::actors
