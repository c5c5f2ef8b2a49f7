// SPDX-License-Identifier: Apache-2.0
// Collects CUPTI's records of the kernels, copies and fills that run between start and stop. One
// collection at a time.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/cuda/dynamic_library.hpp"
#include "runtime/cuda/kernel_record.hpp"
#include "runtime/result.hpp"

namespace warpsmith::cuda {

/// Records that one collection keeps. What comes after them is lost, and `stop` says so.
inline constexpr size_t most_kernel_records = 8192;

/// Call before the context is made. `unsupported` when CUPTI refuses (a container without the
/// permission, another profiler attached).
Result<void> start_kernel_records(const DynamicLibrary& cupti);
/// What ended so far is in no collection.
Result<void> forget_kernel_records(const DynamicLibrary& cupti);
/// Flushes and returns what was collected, in order of starts; stops collecting. Everything that
/// was launched must have ended. `capacity` where there was more than is kept.
Result<std::vector<KernelRecord>> stop_kernel_records(const DynamicLibrary& cupti);

}  // namespace warpsmith::cuda
