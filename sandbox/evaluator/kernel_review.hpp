// SPDX-License-Identifier: Apache-2.0
// The kernels that a right candidate runs on the GPU, beside those of the baselines: for the
// contract's rules, and for the request `profile`.
#pragma once

#include "sandbox/evaluator/candidate_judge.hpp"
#include "sandbox/profile/baseline_kernels.hpp"

namespace warpsmith::sandbox {

class KernelReview {
 public:
  KernelReview(Slot& slot, TaskKnowledge& tasks, const JudgedCandidate& judged)
      : slot_(slot), tasks_(tasks), judged_(judged) {}

  /// Whether the slot has a GPU, and the request or the contract wants to see the kernels of what
  /// passed.
  bool is_wanted(const Verdict& verdict) const;
  /// Records one call of each party and adds what that shows to the verdict. Requires `is_wanted`.
  /// Fails where the device is no longer well, or where a rule cannot be decided.
  OrFailure<void> apply(const IngestRecord& record, Verdict& verdict, Deadline deadline);

 private:
  /// The kernels of one call of each party, or why they are unknown.
  struct CallKernels {
    PartyKernels candidate;
    BaselineKernels baselines;
  };
  OrFailure<CallKernels> record_call(const IngestRecord& record, Verdict& verdict,
                                     Deadline deadline);
  OrFailure<PartyKernels> candidate_kernels(Deadline deadline);
  /// Into feedback and evidence; the class stays.
  void add_profile(const IngestRecord& record, CallKernels kernels, Verdict& verdict) const;

  Slot& slot_;
  TaskKnowledge& tasks_;
  const JudgedCandidate& judged_;
};

}  // namespace warpsmith::sandbox
