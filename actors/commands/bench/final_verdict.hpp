// SPDX-License-Identifier: Apache-2.0
// A timed verdict on a machine that may be noisy.
#pragma once

#include "actors/sandbox/sandbox_backend.hpp"

namespace warpsmith::actors {

/// Evaluations in a row that noise may spoil.
inline constexpr int most_spoilt = 4;

struct FinalVerdict {
  Judgement judgement;
  int asked_again = 0;  // evaluations that noise spoilt before it
};

/// Judges and times. What noise spoils is asked again; of `most_spoilt` in a row the last one is
/// the answer.
FinalVerdict final_verdict(SandboxBackend& backend, const Task& task, const Submission& submission);

}  // namespace warpsmith::actors
