// SPDX-License-Identifier: Apache-2.0
// What a profiler records about one kernel, copy or fill: its launch and its times, and a kernel's
// hardware counters. Needs no toolkit.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "runtime/describe.hpp"

namespace warpsmith::cuda {

enum class RecordKind : uint8_t { kernel, copy, fill };

struct KernelRecord {
  RecordKind kind = RecordKind::kernel;
  std::string name;      // of a kernel, as compiled; otherwise empty
  int64_t start_ns = 0;  // on the profiler's clock
  int64_t duration_ns = 0;
  std::array<uint32_t, 3> grid{}, block{};  // kernels only, as are the next four; otherwise 0
  uint32_t registers = 0;                   // per thread
  uint32_t static_shared = 0, dynamic_shared = 0;  // bytes per block
  uint32_t local_bytes = 0;                        // per thread: arrays, spilled registers
  uint64_t bytes = 0;                              // written by a copy or a fill
  bool in_graph = false;                           // launched as a node of a graph

  WARPSMITH_RECORD(kind, name, start_ns, duration_ns, grid, block, registers, static_shared,
                   dynamic_shared, local_bytes, bytes, in_graph)
};

/// The values of a GPU's hardware counters for one kernel.
struct KernelCounters {
  double dram_read_bytes = 0, dram_written_bytes = 0;
  /// Floating-point operations outside tensor cores, of all types. A fused multiply-add counts as
  /// two. An instruction on half types counts for both halves of a pair, even if it uses one.
  double flops = 0;
  double tensor_flops = 0;  // on tensor cores
  /// Achieved occupancy: the share of a multiprocessor's warp slots that were in use, averaged over
  /// the cycles in which any was.
  double warps_active = 0;

  WARPSMITH_RECORD(dram_read_bytes, dram_written_bytes, flops, tensor_flops, warps_active)
};

}  // namespace warpsmith::cuda
