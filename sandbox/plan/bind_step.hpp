// SPDX-License-Identifier: Apache-2.0
// Binds the steps of a plan: numbers replace names and expressions, with one function per kind.
// Errors go to the scope's errors; the result is then invalid.
#pragma once

#include <limits>

#include "sandbox/plan/plan_scope.hpp"

namespace warpsmith::sandbox {

inline constexpr ValueRange any_value{std::numeric_limits<int64_t>::min(),
                                      std::numeric_limits<int64_t>::max()};

struct BindContext {
  PlanScope& scope;
  const PlanLimits& limits;
};

BoundLaunch bind_launch(const LaunchStep& step, const BindContext& to);
BoundGemm bind_gemm(const GemmStep& step, const BindContext& to);
BoundConv bind_conv(const ConvStep& step, const BindContext& to);
BoundMemset bind_memset(const MemsetStep& step, const BindContext& to);
BoundCopy bind_copy(const CopyStep& step, PlanPlace place, const BindContext& to);

/// Reports a compute type that the task's lane does not allow.
void check_lane(ComputeType compute, PlanPlace place, const BindContext& to);

}  // namespace warpsmith::sandbox
