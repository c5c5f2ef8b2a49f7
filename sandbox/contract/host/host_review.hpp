// SPDX-License-Identifier: Apache-2.0
// What contract `host` adds to a decision: the share of time that was subtracted, who did the work,
// and the task's rule about that. Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/verdict.hpp"
#include "sandbox/judge/evaluation.hpp"
#include "sandbox/profile/profiled_kernel.hpp"

namespace warpsmith::sandbox {

/// What is subtracted for the inputs and the outputs, which a candidate might save or overlap, must
/// stay below this share of the measured time, or the trust class is lowered.
inline constexpr double most_subtracted_share = 0.03;

/// Holds what was subtracted against the candidate's median time, where it was timed. Who spares
/// itself that work, or rings before its kernels have ended and lets them run on beside our wake-up
/// and our sample, gains nothing: each speed-up's interval begins where it would with nothing
/// subtracted from the candidate's time, empty call and sample included. But for the reveal on a
/// CPU, during which the candidate is stopped.
void weigh_subtracted(StageFacts& stage, ShapeResult& shape);

/// Where a task takes custom kernels only: a pass that libraries helped to becomes
/// `banned_construct`.
void forbid_libraries(const StageFacts& stage, Decision& decision);

/// The same by what one call ran on a GPU, which a text cannot hide: kernels of a library that do
/// more than fill and copy, or none that is the candidate's own. Its own process tells them.
void forbid_library_kernels(const PartyKernels& candidate, Verdict& verdict);

}  // namespace warpsmith::sandbox
