// SPDX-License-Identifier: Apache-2.0
// A plan in words, before it is bound to a task: `explain_plan`. Pure.
#pragma once

#include <string>

#include "sandbox/plan/plan.hpp"

namespace warpsmith::sandbox {

/// A line for each scratch buffer, each variant where there are several, and each step, with
/// expressions as they are written.
std::string describe(const Plan& plan);

}  // namespace warpsmith::sandbox
