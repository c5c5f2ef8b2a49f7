// SPDX-License-Identifier: Apache-2.0
// One [[step]] of plan.toml.
#pragma once

#include <optional>

#include "sandbox/plan/plan_table.hpp"

namespace warpsmith::sandbox {

/// Empty if it is no step of a known kind; the errors say why.
std::optional<Step> read_step(const toml::table& table, PlanErrors& errors);

}  // namespace warpsmith::sandbox
