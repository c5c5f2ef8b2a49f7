// SPDX-License-Identifier: Apache-2.0
// Judges submissions on one slot: compile, verify, time, verdict.
#pragma once

#include <memory>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/contract/contract.hpp"
#include "sandbox/protocol/backend.hpp"

namespace warpsmith::sandbox {

/// Owns one slot with its reference worker, and each contract's compilers. Calls come from one
/// thread, the one that lives longest (jails end with the thread that started them). Faults of a
/// task, a candidate or a child process never throw.
class Evaluator : public Backend {
 public:
  static Result<Evaluator> open(SandboxOptions options,
                                const ContractList& contracts = all_contracts());
  Evaluator(Evaluator&&) noexcept;
  Evaluator& operator=(Evaluator&&) noexcept;
  ~Evaluator() override;

  Judgement evaluate(const EvaluateRequest& request, Deadline deadline) override;
  Result<TaskFacts> ingest(const Task& task, Deadline deadline) override;
  void on_progress(Progress progress) override;

 private:
  struct State;
  explicit Evaluator(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace warpsmith::sandbox
