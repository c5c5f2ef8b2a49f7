// SPDX-License-Identifier: Apache-2.0
// Judges a candidate that was built: evaluations on hidden and shown sizes, retries, the verdict.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "sandbox/contract/contract.hpp"
#include "sandbox/evaluator/slot.hpp"
#include "sandbox/evaluator/task_cache.hpp"
#include "sandbox/judge/decision.hpp"
#include "sandbox/timing/speedup.hpp"

namespace warpsmith::sandbox {

/// How far the baselines' times move between the evaluations of one slot.
class BaselineHistory {
 public:
  /// Sets the scatter of each baseline in `timings`. They join the history, too, unless they hold
  /// fewer than `least_blocks`: the median of a timing that ended early means little.
  void compare(const std::string& task_key, Timings& timings, int least_blocks);

 private:
  Reproducibility eager_, compiled_;
  std::map<Baseline, Reproducibility> further_;
};

/// What a slot keeps from evaluation to evaluation.
struct SlotState {
  Slot& slot;
  TaskCache& tasks;
  BaselineHistory& baselines;
};

/// A candidate with its submission and contract. All of it outlives the evaluation.
struct JudgedCandidate {
  const EvaluateRequest& request;
  const ContractEntry& entry;
  Contract& contract;
  Candidate& candidate;
  CandidateTime& own;
};

class CandidateJudge {
 public:
  CandidateJudge(const SlotState& memory, const JudgedCandidate& judged)
      : slot_(memory.slot), tasks_(memory.tasks), baselines_(memory.baselines), judged_(judged) {}

  /// Completes `verdict`. Its class is `unstable_timing` if the times decide nothing.
  OrFailure<Verdict> judge(Verdict verdict, Deadline deadline);

 private:
  /// The parts of a trial. Hidden sizes come first. If baselines must still be compiled, the sizes
  /// shown are verified first: compiling takes seconds, which a wrong candidate need not wait for.
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
    CandidateStage* stage = nullptr;  // null unless the contract is staged
    std::optional<DeviceRoom> room;   // in a GPU's memory
  };

  /// How a candidate did on the task's hidden sizes.
  struct HiddenResult {
    Decision decision;
    EvaluationOutcome outcome;  // empty if the candidate could not be built for them
  };

  /// Hidden sizes, if the task names any, then those shown. A candidate that is wrong on the
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
  /// Refers to both arguments.
  EvaluationJob job_of(const Run& run, const ReadySlot& ready);
  OrFailure<EvaluationOutcome> attempt(const Run& run, Deadline deadline);
  /// Empty if the task names no hidden sizes.
  OrFailure<std::optional<HiddenResult>> verify_hidden(const SecretSeed& seed, Deadline deadline);
  OrFailure<Trial> try_shown(const Run& run, Deadline deadline);
  /// Verifies the sizes shown, before the baselines are compiled.
  OrFailure<Trial> try_first(const IngestRecord& record, const SecretSeed& seed, Deadline deadline);
  OrFailure<Trial> try_once(const IngestRecord& record, const SecretSeed& seed, Deadline deadline);
  Decision decide_on(const Run& run, EvaluationOutcome& outcome);
  /// Accepts times that stay unstable because of the candidate itself; otherwise decides nothing.
  bool settles(Trial& trial) const;
  OrFailure<Verdict> conclude(Verdict verdict, Trial trial, const Run& run, Deadline deadline);

  Slot& slot_;
  TaskCache& tasks_;
  BaselineHistory& baselines_;
  const JudgedCandidate& judged_;
};

}  // namespace warpsmith::sandbox
