// SPDX-License-Identifier: Apache-2.0
// What a task's text says about how it is judged: constants at its top level.
//
//   custom_kernels_only = True    contract host: work done by libraries fails
#pragma once

#include <string_view>

#include "runtime/result.hpp"

namespace warpsmith {

struct TaskOptions {
  bool custom_kernels_only = false;
};

/// `parse_failed` names the line of an option that is neither True nor False, or stands twice.
/// Pure.
Result<TaskOptions> read_task_options(std::string_view code);

}  // namespace warpsmith
