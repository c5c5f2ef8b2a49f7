// SPDX-License-Identifier: Apache-2.0
// Reads one [[step]] of plan.toml.
#pragma once

#include <optional>

#include "sandbox/plan/plan_table.hpp"

namespace warpsmith::sandbox {

/// Empty if the table is not a step of a known kind; the errors say why.
std::optional<Step> read_step(const toml::table& table, PlanErrors& errors);

}  // namespace warpsmith::sandbox
