// SPDX-License-Identifier: Apache-2.0
// Judges submissions on one slot: compile, verify, time, verdict.
#pragma once

#include <memory>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/contract/evaluator_options.hpp"
#include "sandbox/contract/registry.hpp"
#include "sandbox/protocol/progress.hpp"
#include "sandbox/protocol/requests.hpp"

namespace warpsmith::sandbox {

/// Owns one slot with its reference worker, and each contract's compilers. Calls come from one
/// thread, the one that lives longest (jails end with the thread that started them). Faults of a
/// task, a candidate or a child process never throw.
class Evaluator {
 public:
  static Result<Evaluator> open(EvaluatorOptions options,
                                const ContractList& contracts = all_contracts());
  Evaluator(Evaluator&&) noexcept;
  Evaluator& operator=(Evaluator&&) noexcept;
  ~Evaluator();

  /// A verdict, or a failure that is not the candidate's. Ingests the task first if need be.
  Judgement evaluate(const EvaluateRequest& request, Deadline deadline,
                     const Progress& progress = {});

  /// What is known about a task on this machine and stack: measured on the first call, then read
  /// from disk. `invalid_argument`, with the reason, for a refused task.
  Result<TaskFacts> ingest(const Task& task, Deadline deadline, const Progress& progress = {});

 private:
  struct State;
  explicit Evaluator(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace warpsmith::sandbox
