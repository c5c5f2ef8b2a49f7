// SPDX-License-Identifier: Apache-2.0
// Right kernels for tasks, as the script that makes demonstrations writes them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/result.hpp"

namespace warpsmith::actors {

/// The task's id → one source text per style, in the order of `styles`.
using KernelSources = std::map<std::string, std::vector<std::string>>;

/// Runs scripts/write_kernels.py over folders of tasks, for at most three minutes. Fails when a
/// task is beyond the script: the message is the script's own.
Result<KernelSources> write_kernels(const std::vector<std::string>& folders,
                                    const std::vector<std::string>& styles);

}  // namespace warpsmith::actors
