// SPDX-License-Identifier: Apache-2.0
// Submissions: read from a folder, in which each folder or source file is one, and judged on all
// slots at once, each on every declared shape.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "actors/sandbox/sandbox_backend.hpp"
#include "commands/optimize/attempt.hpp"
#include "runtime/clock.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"

namespace warpsmith::commands {
using namespace actors;

/// One submission, read but not judged.
struct FoundSubmission {
  std::string name;    // of its folder or file
  std::string origin;  // its path, or which trajectory made it
  std::string key;     // SHA-256 of contract and files
  Submission submission;
  DeviceClass device = DeviceClass::cpu;  // on which it runs
};

struct SubmissionFolder {
  std::string option;  // which names the folder, for messages: "--candidates"
  std::string folder;
  std::string operator_file;
  std::string contract;      // empty: implied by the files
  bool require_all = false;  // a folder without a readable solution is an error
};

/// Reads the submissions, in the order of their names. Entries that begin with a dot, files that no
/// contract accepts, and folders without a readable solution are skipped; `skipped` gets a line on
/// each. With `require_all`, an error names such a folder. `not_found` if nothing is left.
Result<std::vector<FoundSubmission>> read_submissions(const SubmissionFolder& from,
                                                      std::vector<std::string>& skipped);

/// The slots and shapes to judge on, and the limits.
struct JudgingPool {
  std::vector<SandboxBackendFactory> slots;  // one thread each
  std::vector<DeclaredShape> shapes;
  std::chrono::milliseconds evaluation{};      // longest evaluation of one shape
  std::optional<SteadyClock::time_point> end;  // no submission begins after it
  std::function<bool()> stopped;               // true after Ctrl-C
  std::function<void(const std::string&)> progress;
};

/// A submission that has no verdict because of the machine, not through its own fault.
struct Unjudged {
  std::string name;
  InfraFailure failure;
};

struct PoolResult {
  std::vector<Unjudged> unjudged;
  size_t not_begun = 0;  // for lack of time, after Ctrl-C (those in progress too), or an error
  std::optional<Error> error;  // of `judged`
};

/// Calls `judged` for each submission, one at a time, from the pool's threads. Judging a submission
/// stops at the first shape on which it is not correct. A failure of the machine is retried once.
/// Returns once all threads have ended.
PoolResult judge_all(const JudgingPool& pool, const std::vector<FoundSubmission>& submissions,
                     AttemptRole role, const std::function<Result<void>(const Attempt&)>& judged);

}  // namespace warpsmith::commands
