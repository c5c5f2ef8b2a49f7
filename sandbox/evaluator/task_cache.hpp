// SPDX-License-Identifier: Apache-2.0
// What a slot knows about tasks: the reference worker measures it once, then it is read from disk
// or kept in memory.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "sandbox/evaluator/slot.hpp"
#include "sandbox/judge/ingest_record.hpp"
#include "sandbox/profile/profiled_kernel.hpp"
#include "sandbox/reference/baseline.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {

/// By the tasks' content hashes; bounded, because a service lives for months.
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
  void evict_full_maps() {
    const auto bounded = [](auto& map) {
      if (map.size() >= most) map.clear();
    };
    bounded(records), bounded(signatures), bounded(baseline_kernels), bounded(further);
  }
};

/// Whether the request wants times, not only whether outputs are right.
inline bool is_timed(const EvaluateRequest& request) {
  return request.want == Request::profile || request.want == Request::final;
}

/// References and pointers that it returns are valid until the next `evict_full_maps`.
class TaskCache {
 public:
  explicit TaskCache(Slot& slot) : slot_(slot) {}

  /// Bounds the memory. Called first in each call of the evaluator.
  void evict_full_maps() { memory_.evict_full_maps(); }

  /// The task's record; its ragged shapes, if it has any, have passed the ingest as well.
  OrFailure<const IngestRecord*> record_of(const Task& task, Deadline deadline);
  /// The record of a task in other sizes, measured as far as verifying needs.
  OrFailure<const IngestRecord*> ragged_record_of(const Task& ragged, Deadline deadline) {
    return record_of(ragged, IngestScope::verified, deadline);
  }

  /// Loads an unknown task on the CPU: nothing is measured, and no GPU is needed.
  OrFailure<const TaskSignature*> signature_of(const Task& task, Deadline deadline);

  /// The worker with the request's task loaded, and its compiled and further baselines where those
  /// are timed. The first time in a worker's life that takes seconds.
  OrFailure<ReferenceWorker*> worker_with(const EvaluateRequest& request,
                                          const IngestRecord& record, Deadline deadline);

  /// Loads the task; returns whether the worker has its compiled baseline.
  OrFailure<bool> has_compiled(const Task& task, Deadline deadline);

  /// The further baselines that the task is timed against on this slot, less those that were
  /// dropped or that ingest found missing.
  FurtherBaselines& further_of(const Task& task, const IngestRecord& record);

  /// The kernels of one call of each baseline, or the reason why they are unknown. `ready` is the
  /// worker that has loaded the task.
  BaselineKernels baseline_kernels(const Task& task, const OrFailure<ReferenceWorker*>& ready,
                                   Deadline deadline);

 private:
  OrFailure<const IngestRecord*> record_of(const Task& task, IngestScope scope, Deadline deadline);
  OrFailure<const IngestRecord*> fit_ragged(const Task& ragged, const IngestRecord& shown,
                                            Deadline deadline);
  OrFailure<IngestRecord> measure(const Task& task, IngestScope scope, Deadline deadline);
  OrFailure<TaskDescription> loaded_description(const Task& task, Deadline deadline);
  OrFailure<TaskSignature> load_signature(const Task& task, Deadline deadline);
  /// Calls `attempt` until it succeeds or the retry policy ends the tries.
  template <class T>
  OrFailure<T> with_retries(const Task& task, Deadline deadline,
                            const std::function<OrFailure<T>()>& attempt);
  FurtherBaselines& further_of(const Task& task);
  std::string facts_folder() const { return slot_.options().cache_dir + "/facts"; }

  Slot& slot_;
  TaskMemory memory_;
};

}  // namespace warpsmith::sandbox
