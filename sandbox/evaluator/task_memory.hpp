// SPDX-License-Identifier: Apache-2.0
// What a slot remembers of tasks, by their content hashes; bounded, because a service lives for
// months.
#pragma once

#include <map>
#include <string>

#include "sandbox/judge/ingest_record.hpp"
#include "sandbox/profile/profiled_kernel.hpp"
#include "sandbox/reference/further_baselines.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {

struct TaskMemory {
  // Entries of each map; a record takes up to 4 MB per output. Forgotten ones are read from disk or
  // made again.
  static constexpr size_t most = 128;

  std::map<std::string, IngestRecord> records;
  std::map<std::string, TaskSignature> signatures;  // also of tasks that were never ingested
  std::map<std::string, BaselineKernels> baseline_kernels;
  std::map<std::string, FurtherBaselines> further;

  /// Call it only between two calls of the evaluator: each holds references into these maps, and
  /// adds at most a task and its ragged twin.
  void make_room() {
    const auto bounded = [](auto& map) {
      if (map.size() >= most) map.clear();
    };
    bounded(records), bounded(signatures), bounded(baseline_kernels), bounded(further);
  }
};

}  // namespace warpsmith::sandbox
