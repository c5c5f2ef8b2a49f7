// SPDX-License-Identifier: Apache-2.0
// The jail of a Python process with torch inside the sequential commit: the reference worker, or
// the runner of contract `host`.
#pragma once

#include <string>

#include "sandbox/device/gpu_access.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

/// A jail that runs `script`, a file of `folder`, which it shows as /worker. One thread. malloc
/// keeps freed memory, as in a long-running program; else each call would pay page faults for its
/// outputs.
Result<JailSpec> python_jail(const std::string& python, const std::string& folder,
                             const std::string& script);

/// Shows a GPU's nodes and driver; torch brings its other libraries.
void add_gpu(JailSpec& spec, const GpuAccess& gpu);

}  // namespace warpsmith::sandbox
