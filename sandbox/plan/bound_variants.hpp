// SPDX-License-Identifier: Apache-2.0
// A bound plan and its other variants at the same extents. A mistake that no extents could fix is
// an error in every variant; one that depends on the extents is an error only in the chosen
// variant.
#pragma once

#include <vector>

#include "sandbox/plan/bound_plan.hpp"
#include "sandbox/plan/plan_errors.hpp"

namespace warpsmith::sandbox {

/// A variant that these extents do not choose.
struct OtherVariant {
  size_t index = 0;
  std::vector<BoundStep> steps;  // meaningful only without `misfits`
  PlanErrors misfits;            // why these extents could not use it; not errors of the plan
};

struct BoundVariants {
  BoundPlan chosen;
  std::vector<OtherVariant> others;  // in the plan's order
};

/// Binds every variant; `bind_plan` returns only the chosen one. On failure the errors of `beside`
/// are reported too, but they do not make a plan fail by themselves.
Result<BoundVariants> bind_variants(const Plan& plan, const TaskSignature& signature,
                                    const PlanLimits& limits, const PlanErrors& beside = {});

}  // namespace warpsmith::sandbox
