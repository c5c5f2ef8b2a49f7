// SPDX-License-Identifier: Apache-2.0
// A profiler's record of one kernel, copy or fill of one call, and the kernels of one call. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cuda/kernel_record.hpp"
#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// Recorded by the profiler of the launcher or worker, unless `Profile::self_recorded` is set.
struct ProfiledKernel {
  cuda::RecordKind kind = cuda::RecordKind::kernel;
  std::string name;                         // truncated printable ASCII; "copy" or "fill" for those
  double start_us = 0;                      // after the start of the call's first kernel
  double time_us = 0;                       // on the device
  std::array<uint32_t, 3> grid{}, block{};  // grid to shared_bytes: 0 except for a kernel
  uint32_t registers = 0;                   // per thread
  uint32_t shared_bytes = 0;                // per block, static and dynamic together
  std::optional<uint32_t> static_shared_bytes, local_bytes;  // empty: not separated
  std::optional<uint64_t> bytes;                             // written by a copy or a fill
  std::optional<cuda::KernelCounters> counters;              // from another call than the times
};

/// The kernels, copies and fills of one call, in order, or the reason why they are unknown.
struct CallKernels {
  std::vector<ProfiledKernel> kernels;
  std::string reason;
  std::string uncounted;  // why its kernels have no counters
};

/// False for NaN and for more than any device can do in one kernel.
bool is_possible(const cuda::KernelCounters& counters);

/// Adds the counters, which are in the order of the kernels, or the reason why there are none.
void add_counters(CallKernels& call, const Result<std::vector<cuda::KernelCounters>>& counted);

/// The most kernels kept of one call.
inline constexpr size_t most_profiled_kernels = 512;

/// Above the limits of every device: threads along one extent of a block, registers per thread,
/// shared bytes per block. Larger values are rejected.
inline constexpr uint32_t most_block_threads = 1024, most_registers = 1024;
inline constexpr uint32_t most_shared_bytes = 1U << 24U;

/// Truncates to 200 bytes and replaces everything but printable ASCII by '?'.
std::string clean_name(const std::string& name);

/// A kernel's counters divided by its time.
struct KernelRates {
  double dram_bytes = 0;  // read and written
  double gbytes_per_s = 0, gflops_per_s = 0, tensor_gflops_per_s = 0;
};
/// Empty if there are no counters or the time is 0.
std::optional<KernelRates> rates_of(const ProfiledKernel& kernel);

/// The sum of all kernels' times, in microseconds.
double total_us(const CallKernels& call);

/// "kernel", "copy" or "fill".
const char* kind_name(cuda::RecordKind kind) noexcept;

/// Combines the records of several equal calls into the kernels of one. `records` holds `calls` >=
/// 2 calls, in order. Since every call does the same work, each kernel's time and place are medians
/// over the calls; the first call is left out because it is slower. `parse_failed` if the calls
/// launched different work: records were lost.
Result<std::vector<ProfiledKernel>> fold_calls(const std::vector<cuda::KernelRecord>& records,
                                               size_t calls);

}  // namespace warpsmith::sandbox
