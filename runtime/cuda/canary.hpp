// SPDX-License-Identifier: Apache-2.0
// Runs one known kernel on one GPU under CUPTI: proof that launching, results and profiling work.
#pragma once

#include <string>

#include "runtime/cuda/driver.hpp"
#include "runtime/result.hpp"

namespace warpsmith::cuda {

struct CanaryReport {
  bool result_correct = false;
  int64_t elements = 0;
  double kernel_us = 0;     // device time in CUPTI's activity record
  std::string kernel_name;  // as CUPTI reports it
  int registers = 0;        // per thread
  int64_t free_before = 0;  // bytes of device memory
  int64_t free_after = 0;   // after everything was released
};

/// True if the program was built with a CUDA toolkit.
bool canary_is_built();

/// Runs the canary in a context that it creates and destroys. `unsupported` without a toolkit at
/// build time or CUPTI at run time; `infrastructure` if a call fails. Call it once per process:
/// CUPTI stays attached.
Result<CanaryReport> run_canary(int gpu);

}  // namespace warpsmith::cuda
