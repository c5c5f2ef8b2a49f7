// SPDX-License-Identifier: Apache-2.0
// Reads one item of a launch's `args`.
#pragma once

#include "sandbox/plan/plan_table.hpp"

namespace warpsmith::sandbox {

/// The forms are: "x", a buffer, or an expression if the text is not a plain name; 5, a number;
/// both numbers and expressions have the width of the kernel's parameter. {i64 = "d0 * d1"} and
/// {f32 = 0.5} give the type. {tensor_map = "x", shape = […], strides = […], box = […], swizzle =
/// "128"} is a descriptor.
Argument read_argument(const toml::node& node, PlanTable& within, PlanErrors& errors);

}  // namespace warpsmith::sandbox
