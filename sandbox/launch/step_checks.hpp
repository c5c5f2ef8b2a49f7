// SPDX-License-Identifier: Apache-2.0
// Checks a step that arrived over a socket.
#pragma once

#include <string>
#include <vector>

#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::sandbox {

/// What is wrong with a step over these buffers, in the form of `at_place`; empty if it is valid.
/// Never reads out of bounds, whatever the numbers are. Requires buffers with checked types and
/// sizes.
std::string wrong_in(const BoundStep& step, const std::vector<BoundBuffer>& buffers);

}  // namespace warpsmith::sandbox
