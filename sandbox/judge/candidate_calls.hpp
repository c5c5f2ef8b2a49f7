// SPDX-License-Identifier: Apache-2.0
// How a candidate is called: on the bench itself, or on a stage whose set is revealed with the
// clock running and sampled at `done`.
#pragma once

#include <optional>
#include <string>

#include "sandbox/judge/evaluation.hpp"

namespace warpsmith::sandbox {

/// Both outlive it.
class CandidateCalls {
 public:
  CandidateCalls(const EvaluationJob& job, Contestant& candidate)
      : job_(job), candidate_(candidate), random_(job.seed.seed, "positions") {}

  Contestant& candidate() { return candidate_; }
  CallResult load(Deadline deadline);
  /// On the bench's set, which was filled and reset. On return its outputs are the candidate's.
  CallResult call(uint32_t set, Deadline deadline);
  /// Nothing where there is no stage. Libraries only of a candidate that lives.
  std::optional<StageFacts> facts();

 private:
  const EvaluationJob& job_;
  Contestant& candidate_;
  RandomStream random_;
  std::vector<std::string> libraries_before_;  // it was loaded
};

}  // namespace warpsmith::sandbox
