// SPDX-License-Identifier: Apache-2.0
// Parses the kernels that Python processes report: the reference worker for its baselines, and a
// candidate of contract `host` for itself.
#pragma once

#include <string>

#include "runtime/result.hpp"
#include "sandbox/profile/profiled_kernel.hpp"

namespace warpsmith::sandbox {

struct BaselineKernels {
  CallKernels eager, compiled;
};

/// Parses the worker's answer to `profile`. `parse_failed` names what is missing or impossible.
Result<BaselineKernels> parse_baseline_kernels(const std::string& json);

/// Parses the report of a candidate's own process. `unsupported`, with its reason, if it has
/// none.
Result<CallKernels> parse_reported_kernels(const std::string& json);

}  // namespace warpsmith::sandbox
