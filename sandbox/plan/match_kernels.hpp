// SPDX-License-Identifier: Apache-2.0
// A plan beside the kernels that it launches: what only the compiled code can tell.
#pragma once

#include "runtime/result.hpp"
#include "sandbox/compile/cubin.hpp"
#include "sandbox/plan/bound_variants.hpp"

namespace warpsmith::sandbox {

/// Every kernel exists, takes as many arguments of those sizes, which hold the numbers, and fits a
/// block of that size with its registers and shared memory. Of variants that are not chosen, what
/// other extents may mend joins their misfits. `invalid_config`, one line for each thing that is
/// wrong. Requires what `bind_variants` made of `plan`.
Result<void> match_kernels(const Plan& plan, BoundVariants& bound, const CubinFacts& cubin,
                           const PlanLimits& limits);

/// What can be told of a plan that does not bind: kernels that are not there, and how many
/// arguments those take that are.
PlanErrors match_texts(const Plan& plan, const CubinFacts& cubin);

/// Bytes that an argument takes; 0 for a whole number as wide as its parameter.
uint32_t argument_bytes(const BoundArgument& argument);

/// As an int or as an unsigned.
bool fits_in_4_bytes(int64_t value);

}  // namespace warpsmith::sandbox
