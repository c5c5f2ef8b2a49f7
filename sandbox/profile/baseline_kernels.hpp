// SPDX-License-Identifier: Apache-2.0
// Kernels as Python processes tell them: the reference worker of its baselines, a candidate of
// contract `host` of itself. Pure.
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

/// Of what a candidate's own process left. `unsupported` with its reason where it has none.
Result<PartyKernels> parse_told_kernels(const std::string& json);

}  // namespace warpsmith::sandbox
