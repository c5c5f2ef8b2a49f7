// SPDX-License-Identifier: Apache-2.0
// Hints about who does the work of a candidate of contract `host`. A text can hide what it calls,
// so they stand in the record and decide nothing, except where a task asks for it
// (`custom_kernels_only`): there they are a rule of the task, not a protection; on a GPU the
// kernels of a call are looked at too.
#pragma once

#include <string>
#include <vector>

#include "runtime/submission.hpp"

namespace warpsmith::sandbox {

/// Calls of torch's operators and layers in Python files, as "FILE:LINE: NAME"; at most `most`.
/// Tensors that are made, reshaped or moved are no work and not among them. Pure.
std::vector<std::string> library_hints(const FileSet& modules, size_t most = 16);

/// Base names of the libraries in the text of /proc/PID/maps that compute (NVIDIA's, triton's,
/// OpenMP's), in order, once each. Pure.
std::vector<std::string> computing_libraries(const std::string& maps);

}  // namespace warpsmith::sandbox
