// SPDX-License-Identifier: Apache-2.0
// One item of a launch's `args`.
#pragma once

#include "sandbox/plan/plan_table.hpp"

namespace warpsmith::sandbox {

/// "x": the buffer of that name, or, if the text is no plain name, an expression whose value is as
/// wide as the kernel's parameter. 5: likewise. {i64 = "d0 * d1"}, {f32 = 0.5}: of a given type.
/// {tensor_map = "x", shape = […], strides = […], box = […], swizzle = "128"}: a descriptor.
Argument read_argument(const toml::node& node, PlanTable& within, PlanErrors& errors);

}  // namespace warpsmith::sandbox
