// SPDX-License-Identifier: Apache-2.0
// Parses plan.toml.
#pragma once

#include <string_view>

#include "runtime/result.hpp"
#include "sandbox/plan/plan.hpp"

namespace warpsmith::sandbox {

inline constexpr size_t plan_bytes = 64U << 10U;  // limit of the file
inline constexpr size_t plan_scratch = 32;        // number of scratch buffers
inline constexpr size_t plan_variants = 16;
inline constexpr size_t plan_steps = 64;        // of one variant
inline constexpr size_t plan_args = 64;         // of one launch
inline constexpr size_t plan_name_bytes = 512;  // comparing two names takes |a|·|b| steps

/// An error is `invalid_config` and has one line for each mistake, with line and column. Names of
/// buffers, kernels and symbols are not looked up here, but by `bind_plan`.
Result<Plan> read_plan(std::string_view text);

}  // namespace warpsmith::sandbox
