// SPDX-License-Identifier: Apache-2.0
// The steps of a bound plan as C++ of an exported op. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::commands {

/// Why an op cannot carry out these steps; empty if it can.
std::optional<std::string> unexportable(const sandbox::BoundPlan& plan);

bool launches_kernel(const sandbox::BoundPlan& plan);
bool multiplies(const sandbox::BoundPlan& plan);

/// One function for each plan, and `call`, which runs that of a shape. Requires exportable plans.
std::string steps_source(const std::vector<sandbox::BoundPlan>& plans);

}  // namespace warpsmith::commands
