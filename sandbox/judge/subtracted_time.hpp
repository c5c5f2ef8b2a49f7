// SPDX-License-Identifier: Apache-2.0
// What is subtracted from the times of a candidate that is shown a stage, weighed against them.
// Pure.
#pragma once

#include "runtime/verdict.hpp"
#include "sandbox/judge/evaluation.hpp"

namespace warpsmith::sandbox {

/// The time that is subtracted for moving inputs and outputs, which a candidate might save or
/// overlap, must stay below this share of the measured time, or the trust class is lowered.
inline constexpr double most_subtracted_share = 0.03;

/// Sets the share of the candidate's median time that was subtracted, where it was timed, and
/// lowers each speed-up's interval to where it would begin with nothing subtracted, empty call and
/// sample included. A candidate therefore gains nothing by sparing itself that work, or by ringing
/// before its kernels have ended. The reveal on a CPU stays subtracted: the candidate is stopped
/// then.
void weigh_subtracted(StageFacts& stage, ShapeResult& shape);

}  // namespace warpsmith::sandbox
