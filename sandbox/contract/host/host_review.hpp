// SPDX-License-Identifier: Apache-2.0
// Whether a candidate of contract `host` leaves its work to libraries: hints in its text, and the
// kernels of a call; and the rule of a task that takes custom kernels only (`custom_kernels_only`).
// A text can hide what it calls, so hints are recorded and decide nothing, except under that rule.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "runtime/submission.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/judge/decision.hpp"
#include "sandbox/profile/profiled_kernel.hpp"

namespace warpsmith::sandbox {

/// Calls of torch's operators and layers in Python files, as "FILE:LINE: NAME"; at most `most`.
/// Making, reshaping and moving tensors does not count. Pure.
std::vector<std::string> library_hints(const FileSet& modules, size_t most = 16);

/// Turns a pass into `banned_construct` if the candidate's text or its mapped libraries show that a
/// library did work.
void forbid_libraries(const StageFacts& stage, Decision& decision);

/// The same by the kernels of one call on a GPU, which a text cannot hide. Fails kernels of a
/// library that do more than fill and copy, and a call without any of the candidate's own kernels.
/// The candidate's process reports these kernels, so a pass proves little.
void forbid_library_kernels(const CallKernels& candidate, Verdict& verdict);

}  // namespace warpsmith::sandbox
