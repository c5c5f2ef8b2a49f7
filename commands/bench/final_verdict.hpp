// SPDX-License-Identifier: Apache-2.0
// A timed verdict on a machine that may be noisy.
#pragma once

#include "actors/sandbox/sandbox_backend.hpp"

namespace warpsmith::commands {
using namespace actors;

/// How many evaluations in a row may fail by noise.
inline constexpr int max_noisy = 4;

struct FinalVerdict {
  Judgement judgement;
  int retries = 0;  // evaluations before it that failed by noise
};

/// Judges and times a submission. Repeats an evaluation that fails by noise; after `max_noisy` of
/// them the last one is the result.
FinalVerdict final_verdict(SandboxBackend& backend, const Task& task, const Submission& submission);

}  // namespace warpsmith::commands
