// SPDX-License-Identifier: Apache-2.0
// Options of judging that a task's text sets as constants at its top level:
//
//   custom_kernels_only = True    contract host: fails if a library is seen working (lower trust)
#pragma once

#include <string_view>

#include "runtime/result.hpp"

namespace warpsmith {

struct TaskOptions {
  bool custom_kernels_only = false;
};

/// Reads the options. `parse_failed` names the line of an option whose value is neither True nor
/// False, or that is set twice. Pure.
Result<TaskOptions> read_task_options(std::string_view code);

}  // namespace warpsmith
