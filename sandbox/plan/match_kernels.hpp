// SPDX-License-Identifier: Apache-2.0
// Checks a plan against its compiled kernels.
#pragma once

#include "runtime/result.hpp"
#include "sandbox/compile/cubin.hpp"
#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::sandbox {

/// Checks that every kernel exists, that its parameters match the arguments in number, size and
/// value range, and that a block of that size fits the kernel's registers and shared memory. For
/// variants that are not chosen, errors that other extents might fix are added to their misfits.
/// The error is `invalid_config`, with one line for each mistake. Requires the result of
/// `bind_variants(plan)`.
Result<void> match_kernels(const Plan& plan, BoundVariants& bound, const CubinFacts& cubin,
                           const PlanLimits& limits);

/// The checks that are possible for a plan that does not bind: missing kernels, and wrong numbers
/// of arguments.
PlanErrors match_texts(const Plan& plan, const CubinFacts& cubin);

/// Bytes that an argument takes; 0 for an integer with the width of its parameter.
uint32_t argument_bytes(const BoundArgument& argument);

/// Whether it fits an int or an unsigned.
bool fits_in_4_bytes(int64_t value);

}  // namespace warpsmith::sandbox
