// SPDX-License-Identifier: Apache-2.0
// A bound plan, and what its other variants would be at the same extents: a mistake that no extents
// mend is one in every variant, one that others may mend only in the variant that is chosen.
#pragma once

#include <vector>

#include "sandbox/plan/bound_plan.hpp"
#include "sandbox/plan/plan_errors.hpp"

namespace warpsmith::sandbox {

/// A variant that these extents do not choose.
struct OtherVariant {
  size_t index = 0;
  std::vector<BoundStep> steps;  // as the variant has them; good only without `misfits`
  PlanErrors misfits;            // why these extents could not choose it: no fault of the plan
};

struct BoundVariants {
  BoundPlan chosen;
  std::vector<OtherVariant> others;  // in the plan's order
};

/// Binds every variant. As `bind_plan`, which gives the chosen one alone. `beside` is told with
/// what is wrong, and does not make a plan wrong.
Result<BoundVariants> bind_variants(const Plan& plan, const TaskSignature& signature,
                                    const PlanLimits& limits, const PlanErrors& beside = {});

}  // namespace warpsmith::sandbox
