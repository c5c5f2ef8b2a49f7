// SPDX-License-Identifier: Apache-2.0
// Kernels whose time is proportional to an amount of work, as submissions of contract `device`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/submission.hpp"
#include "runtime/task.hpp"

namespace warpsmith::sandbox {

/// "loop" (only arithmetic), "copy" (bandwidth) and "strided" (a reduction with strided loads).
std::vector<std::string> timing_kernel_names();

/// x and y, 64 MiB of f32 each: together larger than any cache.
TaskSignature timing_signature();

/// kernels.cu and plan.toml with `amount` steps of the loop, or elements. `name` is one of
/// `timing_kernel_names`.
FileSet timing_kernel(const std::string& name, int64_t amount);

}  // namespace warpsmith::sandbox
