// SPDX-License-Identifier: Apache-2.0
// A bound plan as people and agents read it: `check --explain`.
#pragma once

#include <string>

#include "sandbox/compile/cubin.hpp"
#include "sandbox/plan/bound_variants.hpp"

namespace warpsmith::sandbox {

/// What a plan may name: the extents with their values, and a line for each tensor.
std::string explain(const TaskSignature& signature);

/// One line for each variant, where there are several: its condition, and whether it could be
/// carried out at these extents. Then one for each scratch buffer and each step of the chosen one,
/// with the numbers that the launcher uses and their types; a whole number without one has its
/// parameter's width, which is said where `cubin` holds the kernel.
std::string explain(const Plan& plan, const BoundVariants& bound, const CubinFacts& cubin = {});

/// One line for each compiled kernel: what a thread and a block of it take.
std::string explain_kernels(const BoundVariants& bound, const CubinFacts& cubin);

}  // namespace warpsmith::sandbox
