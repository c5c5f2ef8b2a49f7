// SPDX-License-Identifier: Apache-2.0
// What a slot remembers of tasks, each by its content hash. A service lives for months.
#pragma once

#include <map>
#include <string>

#include "sandbox/judge/ingest_record.hpp"
#include "sandbox/profile/profiled_kernel.hpp"
#include "sandbox/reference/further_baselines.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {

struct TaskMemory {
  // Of each; a record has up to 4 MB for each output. What is forgotten is read from the disk or
  // made again.
  static constexpr size_t most = 128;

  std::map<std::string, IngestRecord> records;
  std::map<std::string, TaskSignature> signatures;  // of tasks not ingested too
  std::map<std::string, BaselineKernels> baseline_kernels;
  std::map<std::string, FurtherBaselines> further;

  /// Between two calls of the evaluator alone: each one holds references into these throughout,
  /// and adds a task and its ragged twin at most.
  void make_room() {
    const auto bounded = [](auto& map) {
      if (map.size() >= most) map.clear();
    };
    bounded(records), bounded(signatures), bounded(baseline_kernels), bounded(further);
  }
};

}  // namespace warpsmith::sandbox
