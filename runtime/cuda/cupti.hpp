// SPDX-License-Identifier: Apache-2.0
// Loads this machine's CUPTI, and collects its records of the kernels, copies and fills that run
// between start and stop. Only one collection can run at a time. The header needs no toolkit.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/cuda/dynamic_library.hpp"
#include "runtime/cuda/kernel_record.hpp"
#include "runtime/result.hpp"

namespace warpsmith::cuda {

/// libcupti from the loader's path, or in the toolkit or the wheel known at build time.
Result<DynamicLibrary> load_cupti();

/// The most records that one collection keeps; if there are more, `stop_kernel_records` fails.
inline constexpr size_t max_kernel_records = 8192;

/// Starts a collection; call it before the context is made. `unsupported` if CUPTI refuses (a
/// container without the permission, another profiler attached).
Result<void> start_kernel_records(const DynamicLibrary& cupti);
/// Discards the records of all work that has ended.
Result<void> discard_kernel_records(const DynamicLibrary& cupti);
/// Stops collecting and returns the records in order of their start. Everything that was launched
/// must have ended. `capacity` if there were more than `max_kernel_records`.
Result<std::vector<KernelRecord>> stop_kernel_records(const DynamicLibrary& cupti);

}  // namespace warpsmith::cuda
