// SPDX-License-Identifier: Apache-2.0
// Kernels whose times grow evenly with an amount of work, as submissions of contract `device`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/submission.hpp"
#include "runtime/task.hpp"

namespace warpsmith::sandbox {

/// Names: "loop" (arithmetic alone), "copy" (bandwidth), "strided" (a reduction over lines).
std::vector<std::string> timing_kernel_names();

/// x and y, 64 MiB of f32 each: both together are beyond any cache.
TaskSignature timing_signature();

/// kernels.cu and plan.toml: steps of the loop, or elements, `amount` in all. Requires a name of
/// the above.
FileSet timing_kernel(const std::string& name, int64_t amount);

}  // namespace warpsmith::sandbox
