// SPDX-License-Identifier: Apache-2.0
// What contract `host` adds to a decision: the share of time that was subtracted, who did the work,
// and the task's rule about that. Pure.
#pragma once

#include <string>
#include <vector>

#include "sandbox/judge/evaluation.hpp"

namespace warpsmith::sandbox {

/// What is subtracted beside an empty call, and a candidate might save or overlap, must stay below
/// this share of the measured time: it gains no more.
inline constexpr double most_subtracted_share = 0.03;

/// Holds what was subtracted against the candidate's median time, where it was timed. Who spares
/// itself that work gains nothing: each speed-up's interval begins where it would with nothing
/// subtracted.
void weigh_subtracted(StageFacts& stage, ShapeResult& shape);

/// Where a task takes custom kernels only: a pass that libraries helped to becomes
/// `banned_construct`.
void forbid_libraries(const StageFacts& stage, Decision& decision);

}  // namespace warpsmith::sandbox
