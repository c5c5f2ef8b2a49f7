// SPDX-License-Identifier: Apache-2.0
// Steps `gemm` and `conv` by plain loops in double, rounded once. The software device runs them,
// and tests compare a GPU's results with them.
#pragma once

#include <cstddef>
#include <vector>

#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::sandbox::testing {

/// The address of each buffer of a plan, by index.
using BufferBases = std::vector<std::byte*>;

/// Both require a step that `LauncherPlan::validate` accepted for these buffers.
void software_gemm(const BoundGemm& gemm, const std::vector<BoundBuffer>& buffers,
                   const BufferBases& bases);
void software_conv(const BoundConv& conv, const std::vector<BoundBuffer>& buffers,
                   const BufferBases& bases);

}  // namespace warpsmith::sandbox::testing
