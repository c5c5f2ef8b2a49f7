// SPDX-License-Identifier: Apache-2.0
// Plans as text for people and agents: before binding (`explain_plan`), and bound (`check
// --explain`). Pure.
#pragma once

#include <string>

#include "sandbox/compile/cubin.hpp"
#include "sandbox/plan/bound_plan.hpp"
#include "sandbox/plan/plan.hpp"

namespace warpsmith::sandbox {

/// A line for each scratch buffer, each variant if there are several, and each step, with
/// expressions as they are written.
std::string describe(const Plan& plan);

/// The names that a plan may use: the extents with their values, and a line for each tensor.
std::string explain(const TaskSignature& signature);

/// One line for each variant, if there are several: its condition, and whether it would run at
/// these extents. Then one line for each scratch buffer and each step of the chosen variant, with
/// the launcher's numbers and types. An untyped integer has the width of its parameter, which is
/// shown if `cubin` contains the kernel.
std::string explain(const Plan& plan, const BoundVariants& bound, const CubinFacts& cubin = {});

/// One line for each compiled kernel: its resources per thread and per block.
std::string explain_kernels(const BoundVariants& bound, const CubinFacts& cubin);

}  // namespace warpsmith::sandbox
