// SPDX-License-Identifier: Apache-2.0
// Library steps by plain loops in double, rounded once: what the software device does for `gemm`
// and `conv`, and what a GPU's results are compared with in tests.
#pragma once

#include <cstddef>
#include <vector>

#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::sandbox {

/// Where each buffer of a plan begins, by index.
using BufferBases = std::vector<std::byte*>;

/// Both require a step that `LauncherPlan::validate` found good for these buffers.
void software_gemm(const BoundGemm& gemm, const std::vector<BoundBuffer>& buffers,
                   const BufferBases& bases);
void software_conv(const BoundConv& conv, const std::vector<BoundBuffer>& buffers,
                   const BufferBases& bases);

}  // namespace warpsmith::sandbox
