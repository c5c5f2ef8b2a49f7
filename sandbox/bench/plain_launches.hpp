// SPDX-License-Identifier: Apache-2.0
// A plan's kernels launched in this very process, without graph, jail or verifier: what times of
// verdicts are held against.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/result.hpp"
#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::sandbox {

/// What is done before each call, those around nothing too. An error ends the timing.
using BeforeCall = std::function<Result<void>()>;

/// Milliseconds of each of `calls` calls: between two events around the plan's launches on one
/// stream, the caches swept before, less the median of two events around nothing. Buffers hold
/// fixed pseudo-random bits. `unsupported` without a driver or a toolkit at build time, or for a
/// plan that does more than launch. Makes and drops the GPU's context on a thread of its own, on
/// which `before` runs too: what is current on the caller's stays.
Result<std::vector<double>> time_plain_launches(int gpu, const BoundPlan& plan,
                                                const std::string& cubin, int calls,
                                                const BeforeCall& before);

}  // namespace warpsmith::sandbox
