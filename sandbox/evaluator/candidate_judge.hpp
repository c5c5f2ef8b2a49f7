// SPDX-License-Identifier: Apache-2.0
// One evaluation of a candidate that was built: attempts, the decision, the verdict.
#pragma once

#include <optional>

#include "sandbox/contract/contract.hpp"
#include "sandbox/evaluator/baseline_history.hpp"
#include "sandbox/evaluator/slot.hpp"
#include "sandbox/evaluator/task_knowledge.hpp"

namespace warpsmith::sandbox {

/// What a slot keeps from evaluation to evaluation.
struct SlotMemory {
  Slot& slot;
  TaskKnowledge& tasks;
  BaselineHistory& baselines;
};

/// A candidate with its submission and contract. All of it outlives the evaluation.
struct JudgedCandidate {
  const EvaluateRequest& request;
  const ContractEntry& entry;
  Contract& contract;
  Candidate& candidate;
  OwnTime& own;
};

class CandidateJudge {
 public:
  CandidateJudge(const SlotMemory& memory, const JudgedCandidate& judged)
      : slot_(memory.slot), tasks_(memory.tasks), baselines_(memory.baselines), judged_(judged) {}

  /// Completes `verdict`. Its class is `unstable_timing` where the times decide nothing.
  OrFailure<Verdict> judge(Verdict verdict, Deadline deadline);

 private:
  /// The parts of a trial. Hidden sizes come first. Before baselines must be compiled, the sizes
  /// shown are verified alone: that takes seconds which a wrong candidate need not wait for.
  enum class Part : uint8_t { shown, hidden, first };

  /// One run over a bench. All of it outlives the run.
  struct Run {
    const EvaluateRequest& request;
    const IngestRecord& record;
    Candidate& candidate;
    const SecretSeed& seed;
    Part part = Part::shown;
  };
  struct ReadySlot {
    ReferenceWorker* worker = nullptr;
    Bench* bench = nullptr;
    CandidateStage* stage = nullptr;                    // null unless the contract is staged
    std::shared_ptr<std::optional<DeviceLease>> lease;  // of a task that takes much of a GPU
  };

  /// How a candidate did on the task's hidden sizes.
  struct HiddenResult {
    Decision decision;
    EvaluationOutcome outcome;  // empty where the candidate could not be built for them
  };

  /// Hidden sizes, where the task names any, then those shown. A candidate that is wrong on the
  /// former is not timed on the latter.
  struct Trial {
    std::optional<HiddenResult> hidden;
    EvaluationOutcome shown;
    Decision decision;       // on the sizes shown
    bool ends_here = false;  // it is wrong, and its baselines are not compiled

    bool wrong_when_hidden() const {
      return hidden && hidden->decision.outcome != VerdictClass::passed;
    }
  };

  OrFailure<ReadySlot> ready_for(const Run& run, Deadline deadline);
  /// The lease that `ready` holds, or the slot's.
  AcquireLease lease_for(const ReadySlot& ready);
  /// Refers to both arguments.
  EvaluationJob job_of(const Run& run, const ReadySlot& ready);
  OrFailure<EvaluationOutcome> attempt(const Run& run, Deadline deadline);
  /// Empty where the task names no hidden sizes.
  OrFailure<std::optional<HiddenResult>> verify_hidden(const SecretSeed& seed, Deadline deadline);
  OrFailure<Trial> try_shown(const Run& run, Deadline deadline);
  /// Verifies the sizes shown, before the baselines are compiled.
  OrFailure<Trial> try_first(const IngestRecord& record, const SecretSeed& seed, Deadline deadline);
  OrFailure<Trial> try_once(const IngestRecord& record, const SecretSeed& seed, Deadline deadline);
  Decision decide_on(const Run& run, EvaluationOutcome& outcome);
  /// Accepts times that stay unstable by the candidate's own doing; else nothing is decided.
  bool settles(Trial& trial) const;
  OrFailure<Verdict> conclude(Verdict verdict, Trial trial, const Run& run, Deadline deadline);

  Slot& slot_;
  TaskKnowledge& tasks_;
  BaselineHistory& baselines_;
  const JudgedCandidate& judged_;
};

}  // namespace warpsmith::sandbox
