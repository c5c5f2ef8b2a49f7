// SPDX-License-Identifier: Apache-2.0
// Combines the records of several equal calls into the kernels of one.
#pragma once

#include <vector>

#include "runtime/result.hpp"
#include "sandbox/profile/profiled_kernel.hpp"

namespace warpsmith::sandbox {

/// `records` holds `calls` >= 2 calls, in order. Since every call does the same work, each kernel's
/// time and place are medians over the calls; the first call is left out because it is slower.
/// `parse_failed` where the calls launched different work: records were lost.
Result<std::vector<ProfiledKernel>> fold_calls(const std::vector<cuda::KernelRecord>& records,
                                               size_t calls);

}  // namespace warpsmith::sandbox
