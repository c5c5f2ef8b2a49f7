// SPDX-License-Identifier: Apache-2.0
// Hints that a candidate of contract `host` leaves its work to libraries. A text can hide what it
// calls, so hints stand in the record and decide nothing. The exception is a task with
// `custom_kernels_only`, where they are a rule of the task and no protection; on a GPU the kernels
// of a call are checked too.
#pragma once

#include <string>
#include <vector>

#include "runtime/submission.hpp"

namespace warpsmith::sandbox {

/// Calls of torch's operators and layers in Python files, as "FILE:LINE: NAME"; at most `most`.
/// Making, reshaping and moving tensors does not count. Pure.
std::vector<std::string> library_hints(const FileSet& modules, size_t most = 16);

}  // namespace warpsmith::sandbox
