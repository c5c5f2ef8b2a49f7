// SPDX-License-Identifier: Apache-2.0
// The values of a GPU's hardware counters for one kernel. Needs no toolkit.
#pragma once

namespace warpsmith::cuda {

struct KernelCounters {
  double dram_read_bytes = 0, dram_written_bytes = 0;
  /// Floating-point operations outside tensor cores, of all types. A fused multiply-add counts as
  /// two. An instruction on half types counts for both halves of a pair, even if it uses one.
  double flops = 0;
  double tensor_flops = 0;  // on tensor cores
  /// Achieved occupancy: the share of a multiprocessor's warp slots that were in use, averaged over
  /// the cycles in which any was.
  double warps_active = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(dram_read_bytes, dram_written_bytes, flops, tensor_flops, warps_active);
  }
};

}  // namespace warpsmith::cuda
