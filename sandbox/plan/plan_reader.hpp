// SPDX-License-Identifier: Apache-2.0
// plan.toml to a Plan.
#pragma once

#include <string_view>

#include "runtime/result.hpp"
#include "sandbox/plan/plan.hpp"

namespace warpsmith::sandbox {

inline constexpr size_t plan_bytes = 64U << 10U;  // longest file
inline constexpr size_t plan_scratch = 32;        // most scratch buffers
inline constexpr size_t plan_variants = 16;
inline constexpr size_t plan_steps = 64;        // of one variant
inline constexpr size_t plan_args = 64;         // of one launch
inline constexpr size_t plan_name_bytes = 512;  // two names are compared at |a|·|b|

/// Everything that is wrong, one line each with line and column: `invalid_config`. Names of
/// buffers, kernels and symbols are not looked up yet: `bind_plan` does that.
Result<Plan> read_plan(std::string_view text);

}  // namespace warpsmith::sandbox
