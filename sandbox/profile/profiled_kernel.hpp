// SPDX-License-Identifier: Apache-2.0
// What a profiler says about one kernel, copy or fill of one call.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cuda/kernel_counters.hpp"
#include "runtime/cuda/kernel_record.hpp"
#include "runtime/result.hpp"

namespace warpsmith::sandbox {

/// Nothing of it was measured by who is judged: our launcher's or our worker's profiler says it.
struct ProfiledKernel {
  cuda::RecordKind kind = cuda::RecordKind::kernel;
  std::string name;     // printable ASCII, cut; of a copy or a fill "copy" or "fill"
  double start_us = 0;  // from the start of the call's first one
  double time_us = 0;   // on the device
  std::array<uint32_t, 3> grid{}, block{};  // from here on: of a kernel, else 0
  uint32_t registers = 0;                   // per thread
  uint32_t shared_bytes = 0;                // per block, static and dynamic together
  std::optional<uint32_t> static_shared_bytes, local_bytes;  // where the profiler tells them apart
  std::optional<uint64_t> bytes;                             // that a copy or a fill writes
  std::optional<cuda::KernelCounters> counters;  // of another call than the times are of
};

/// One party's work of one call, in order; or why it is not known.
struct PartyKernels {
  std::vector<ProfiledKernel> kernels;
  std::string reason;
  std::string uncounted;  // why its kernels have no counters
};

/// No kernel of any device moves or computes more. Not of NaN.
bool is_possible(const cuda::KernelCounters& counters);

/// Gives each kernel its counters, which are told in order; or says why they have none.
void add_counters(PartyKernels& party, const Result<std::vector<cuda::KernelCounters>>& counted);

/// Kernels of one party's call that are kept; a call may have more.
inline constexpr size_t most_profiled_kernels = 512;

/// No device has more: of threads along one extent of a block, of registers a thread, of shared
/// bytes a block. Whoever tells of more is not believed.
inline constexpr uint32_t most_block_threads = 1024, most_registers = 1024;
inline constexpr uint32_t most_shared_bytes = 1U << 24U;

/// Cut to 200 bytes; what is no printable ASCII becomes '?'. Nothing else is believed of a name.
std::string clean_name(const std::string& name);

/// What a kernel achieved: its counters over its time.
struct KernelRates {
  double dram_bytes = 0;  // read and written
  double gbytes_per_s = 0, gflops_per_s = 0, tensor_gflops_per_s = 0;
};
/// Nothing where it has no counters or took no time.
std::optional<KernelRates> rates_of(const ProfiledKernel& kernel);

/// Of all of them together, microseconds.
double total_us(const PartyKernels& party);

/// "kernel", "copy" or "fill".
const char* kind_name(cuda::RecordKind kind) noexcept;

}  // namespace warpsmith::sandbox
