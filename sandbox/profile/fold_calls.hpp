// SPDX-License-Identifier: Apache-2.0
// Records of several equal calls to the kernels of one. Pure.
#pragma once

#include <vector>

#include "runtime/result.hpp"
#include "sandbox/profile/profiled_kernel.hpp"

namespace warpsmith::sandbox {

/// `records` of `calls` >= 2 calls, in order. Every call does the same work, so that each kernel's
/// time and place are medians over the calls but the first, which pays what a first call costs.
/// `parse_failed` where the calls differ in what they launch: records were lost.
Result<std::vector<ProfiledKernel>> fold_calls(const std::vector<cuda::KernelRecord>& records,
                                               size_t calls);

}  // namespace warpsmith::sandbox
