// SPDX-License-Identifier: Apache-2.0
// What the reference worker says about its baselines' kernels. Pure.
#pragma once

#include <string>

#include "runtime/result.hpp"
#include "sandbox/profile/profiled_kernel.hpp"

namespace warpsmith::sandbox {

struct BaselineKernels {
  PartyKernels eager, compiled;
};

/// Of the worker's answer to `profile`. `parse_failed` names what is missing or impossible.
Result<BaselineKernels> parse_baseline_kernels(const std::string& json);

}  // namespace warpsmith::sandbox
