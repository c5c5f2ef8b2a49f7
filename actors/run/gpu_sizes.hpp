// SPDX-License-Identifier: Apache-2.0
// What memory plans are compared with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::actors {

/// Contexts, modules, and what an allocator rounds up, of this process on a GPU.
inline constexpr int64_t process_bytes = int64_t{1} << 30;

/// "1.5 GiB".
std::string gib(int64_t bytes);

/// The bytes of each GPU of this machine.
Result<std::vector<int64_t>> gpu_sizes();

}  // namespace warpsmith::actors
