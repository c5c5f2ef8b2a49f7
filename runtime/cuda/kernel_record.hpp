// SPDX-License-Identifier: Apache-2.0
// One kernel, copy or fill as a profiler records it. Needs no toolkit.
#pragma once

#include <array>
#include <cstdint>
#include <string>

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

  template <class Archive>
  void serialize(Archive& archive) {
    archive(kind, name, start_ns, duration_ns, grid[0], grid[1], grid[2], block[0], block[1],
            block[2], registers, static_shared, dynamic_shared, local_bytes, bytes, in_graph);
  }
};

}  // namespace warpsmith::cuda
