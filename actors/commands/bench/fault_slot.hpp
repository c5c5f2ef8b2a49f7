// SPDX-License-Identifier: Apache-2.0
// One slot's service under faults: started again whenever it was lost.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "actors/commands/bench/fault_figures.hpp"
#include "actors/commands/bench/strike.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "sandbox/service/client.hpp"

namespace warpsmith::actors {

/// A failure of ours is answered by asking again, at most so often.
inline constexpr int most_repeats = 5;

/// For one thread.
class FaultSlot {
 public:
  /// `ender`, if any, ends its services from another thread.
  FaultSlot(sandbox::SandboxOptions options, std::shared_ptr<sandbox::EndSwitch> ender)
      : options_(std::move(options)), ender_(std::move(ender)) {}

  /// The whole verdict, or the last failure of ours.
  struct Answer {
    JudgedOutcome last;
    std::vector<std::string> failures;  // kinds, of answers that were no verdict
    double took_ms = 0;                 // of the last answer
    double all_ms = 0;                  // of all answers
    bool hit = false;                   // the strike came in time
  };
  Answer judge(const Task& task, const Submission& submission);
  /// The same with a piece killed during the first evaluation.
  Answer judge_struck(const Task& task, const Submission& submission, Piece piece,
                      std::chrono::microseconds delay, ProcessCensus& census);

 private:
  Result<sandbox::Client*> ready();
  Judgement once(const Task& task, const Submission& submission);

  sandbox::SandboxOptions options_;
  std::shared_ptr<sandbox::EndSwitch> ender_;
  std::optional<sandbox::Client> client_;
};

}  // namespace warpsmith::actors
