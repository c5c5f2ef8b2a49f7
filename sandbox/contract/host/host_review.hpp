// SPDX-License-Identifier: Apache-2.0
// The rule of a task that takes custom kernels only (`custom_kernels_only`). Pure.
#pragma once

#include "runtime/verdict.hpp"
#include "sandbox/judge/evaluation.hpp"
#include "sandbox/profile/profiled_kernel.hpp"

namespace warpsmith::sandbox {

/// Turns a pass into `banned_construct` if the candidate's text or its mapped libraries show that a
/// library did work.
void forbid_libraries(const StageFacts& stage, Decision& decision);

/// The same by the kernels of one call on a GPU, which a text cannot hide. Fails kernels of a
/// library that do more than fill and copy, and a call without a kernel of the candidate's own. The
/// candidate's process reports these kernels, so a pass proves little.
void forbid_library_kernels(const PartyKernels& candidate, Verdict& verdict);

}  // namespace warpsmith::sandbox
