// SPDX-License-Identifier: Apache-2.0
// Calls a candidate, either directly on the bench or through a stage, which reveals a set with the
// clock running and samples the outputs at `done`.
#pragma once

#include <optional>
#include <string>

#include "sandbox/judge/evaluation.hpp"

namespace warpsmith::sandbox {

/// Both arguments outlive it.
class CandidateCalls {
 public:
  CandidateCalls(const EvaluationJob& job, Contestant& candidate)
      : job_(job), candidate_(candidate), random_(job.seed.seed, "positions") {}

  Contestant& candidate() { return candidate_; }
  CallResult load(Patience patience);
  /// Calls on the bench's set, which must be filled and reset; it then holds the candidate's
  /// outputs.
  CallResult call(uint32_t set, Patience patience);
  /// Empty where there is no stage. Libraries are listed only while the candidate lives.
  std::optional<StageFacts> facts();

 private:
  const EvaluationJob& job_;
  Contestant& candidate_;
  RandomStream random_;
  std::vector<std::string> libraries_before_;  // mapped before the candidate was loaded
};

}  // namespace warpsmith::sandbox
