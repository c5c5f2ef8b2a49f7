// SPDX-License-Identifier: Apache-2.0
// Collects CUPTI's records of the kernels that run between start and stop. One at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/cuda/dynamic_library.hpp"
#include "runtime/result.hpp"

namespace warpsmith::cuda {

struct KernelRecord {
  std::string name;
  int64_t duration_ns = 0;
  int registers = 0;  // per thread
};

/// libcupti by the loader's path, then beside the toolkit and the wheel known at build time.
Result<DynamicLibrary> load_cupti();

/// Call before the context is made. `unsupported` when CUPTI refuses (a container without the
/// permission, another profiler attached).
Result<void> start_kernel_records(const DynamicLibrary& cupti);
/// Flushes and returns what was collected; stops collecting.
Result<std::vector<KernelRecord>> stop_kernel_records(const DynamicLibrary& cupti);

}  // namespace warpsmith::cuda
