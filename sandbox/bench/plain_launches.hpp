// SPDX-License-Identifier: Apache-2.0
// Launches a plan's kernels in this process, without graph, jail or verifier: the yardstick for the
// times of verdicts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/result.hpp"
#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::sandbox {

/// Runs before each call, including those that launch nothing. An error ends the timing.
using BeforeCall = std::function<Result<void>()>;

/// Milliseconds of each of `calls` calls: two events around the plan's launches on one stream after
/// a sweep of the caches, less the median of two events around nothing. Buffers hold fixed
/// pseudo-random bits. `unsupported` without a driver or a toolkit at build time, or for a plan
/// with other steps than launches. Uses the GPU's context on a separate thread, where `before` runs
/// too, so the caller's current context stays.
Result<std::vector<double>> time_plain_launches(int gpu, const BoundPlan& plan,
                                                const std::string& cubin, int calls,
                                                const BeforeCall& before);

}  // namespace warpsmith::sandbox
