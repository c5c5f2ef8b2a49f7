// SPDX-License-Identifier: Apache-2.0
// Judges submissions on all slots at once, each on every declared shape.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "commands/optimize/attempt.hpp"
#include "commands/optimize/declared_shapes.hpp"
#include "commands/optimize/submissions.hpp"
#include "actors/sandbox/sandbox_backend.hpp"
#include "runtime/clock.hpp"

namespace warpsmith::commands {
using namespace actors;

/// What the pool works with.
struct JudgingPool {
  std::vector<SandboxBackendFactory> slots;  // one thread each
  std::vector<DeclaredShape> shapes;
  std::chrono::milliseconds evaluation{};      // longest evaluation of one shape
  std::optional<SteadyClock::time_point> end;  // no submission begins after it
  std::function<bool()> stopped;               // true after Ctrl-C
  std::function<void(const std::string&)> progress;
};

/// A submission that the machine, not its own fault, left without a verdict.
struct Unjudged {
  std::string name;
  InfraFailure failure;
};

struct PoolResult {
  std::vector<Unjudged> unjudged;
  size_t not_begun = 0;        // for lack of time, after Ctrl-C (those under way too), or an error
  std::optional<Error> error;  // of `judged`
};

/// Calls `judged` for each submission, one at a time, from the pool's threads. A submission ends at
/// the first shape on which it is not correct. One retry follows a failure of the machine. Returns
/// once all threads have ended.
PoolResult judge_all(const JudgingPool& pool, const std::vector<FoundSubmission>& submissions,
                     AttemptRole role, const std::function<Result<void>(const Attempt&)>& judged);

}  // namespace warpsmith::commands
