// SPDX-License-Identifier: Apache-2.0
// What a step that came over a socket may say.
#pragma once

#include <string>
#include <vector>

#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::sandbox {

/// What is wrong with a step over these buffers, as `at_place` tells it; empty: nothing. Never
/// reads beyond either, whatever the numbers are. Requires buffers whose types and sizes were
/// checked.
std::string wrong_in(const BoundStep& step, const std::vector<BoundBuffer>& buffers);

}  // namespace warpsmith::sandbox
