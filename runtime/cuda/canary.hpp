// SPDX-License-Identifier: Apache-2.0
// One known kernel on one GPU, run under CUPTI: proof that launching, results and profiling work.
#pragma once

#include <string>

#include "runtime/cuda/driver.hpp"
#include "runtime/result.hpp"

namespace warpsmith::cuda {

struct CanaryReport {
  bool result_correct = false;
  int64_t elements = 0;
  double kernel_us = 0;     // device time as CUPTI's activity record has it
  std::string kernel_name;  // as CUPTI has it
  int registers = 0;        // per thread
  int64_t free_before = 0;  // bytes of device memory
  int64_t free_after = 0;   // after everything was released
};

/// True where the program was built with a CUDA toolkit.
bool canary_is_built();

/// Creates a context of its own and destroys it. `unsupported` without a toolkit at build time or
/// without CUPTI at run time; `infrastructure` when a call fails. Call it once per process:
/// CUPTI stays attached.
Result<CanaryReport> run_canary(int gpu);

}  // namespace warpsmith::cuda
