// SPDX-License-Identifier: Apache-2.0
// The jail of a Python process of ours that runs torch inside the sequential commit: the reference
// worker, or the runner of contract `host`.
#pragma once

#include <string>

#include "sandbox/device/gpu_access.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

/// Runs `script`, a file of `folder`, which appears as /worker. One thread, freed memory kept: the
/// steady state of a long-running program, without which each call would pay page faults for its
/// fresh outputs.
JailSpec python_jail(const std::string& python, const std::string& folder,
                     const std::string& script);

/// Lets it see a GPU: its nodes and its driver; what torch was built against comes with torch.
void add_gpu(JailSpec& spec, const GpuAccess& gpu);

}  // namespace warpsmith::sandbox
