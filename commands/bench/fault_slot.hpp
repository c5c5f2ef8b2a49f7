// SPDX-License-Identifier: Apache-2.0
// One slot's service under faults: started again whenever it was lost.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "commands/bench/fault_figures.hpp"
#include "commands/bench/strike.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "sandbox/service/client.hpp"

namespace warpsmith::commands {

/// How often an evaluation is repeated after infrastructure failures.
inline constexpr int max_retries = 5;

/// Not thread-safe.
class FaultSlot {
 public:
  /// `ender`, if any, ends its services from another thread.
  FaultSlot(sandbox::SandboxOptions options, std::shared_ptr<sandbox::EndSwitch> ender)
      : options_(std::move(options)), ender_(std::move(ender)) {}

  /// The result of an evaluation with its retries.
  struct Answer {
    JudgedOutcome last;                 // the verdict, or the last infrastructure failure
    std::vector<std::string> failures;  // kinds of the infrastructure failures
    double took_ms = 0;                 // of the last attempt
    double all_ms = 0;                  // of all attempts
    bool hit = false;                   // a process was killed in time
  };
  Answer judge(const Task& task, const Submission& submission);
  /// The same, with a process killed during the first attempt.
  Answer judge_struck(const Task& task, const Submission& submission, Piece piece,
                      std::chrono::microseconds delay, ProcessCensus& census);

 private:
  Result<sandbox::Client*> ready();
  Judgement once(const Task& task, const Submission& submission);

  sandbox::SandboxOptions options_;
  std::shared_ptr<sandbox::EndSwitch> ender_;
  std::optional<sandbox::Client> client_;
};

}  // namespace warpsmith::commands
