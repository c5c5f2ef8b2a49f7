// SPDX-License-Identifier: Apache-2.0
// A bound plan as people read it: `check --explain`.
#pragma once

#include <string>

#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::sandbox {

/// One line for each scratch buffer and each step, with the numbers that the launcher uses.
std::string explain(const Plan& plan, const BoundPlan& bound);

}  // namespace warpsmith::sandbox
