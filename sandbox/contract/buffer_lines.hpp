// SPDX-License-Identifier: Apache-2.0
// A task's tensors as agents read them.
#pragma once

#include <string>
#include <string_view>

#include "runtime/task.hpp"

namespace warpsmith::sandbox {

/// "f32", "bf16", "bool", …
std::string_view dtype_name(Dtype dtype);

/// One line per buffer, e.g. `in[1] weight f32 [1024]`, then `dims 256 1024`. No trailing newline.
std::string buffer_lines(const TaskSignature& signature);

/// The same with a trailing newline: what most contracts show of a task's tensors.
std::string tensor_lines(const TaskSignature& signature);

}  // namespace warpsmith::sandbox
