// SPDX-License-Identifier: Apache-2.0
// A bound plan as people and agents read it: `check --explain`.
#pragma once

#include <string>

#include "sandbox/compile/cubin.hpp"
#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::sandbox {

/// What a plan may name: the extents with their values, and a line for each tensor.
std::string explain(const TaskSignature& signature);

/// One line for each scratch buffer and each step, with the numbers that the launcher uses.
std::string explain(const Plan& plan, const BoundPlan& bound);

/// One line for each compiled kernel: what a thread and a block of it take.
std::string explain_kernels(const BoundPlan& bound, const CubinFacts& cubin);

}  // namespace warpsmith::sandbox
