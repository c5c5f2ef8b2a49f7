// SPDX-License-Identifier: Apache-2.0
// What one slot owns: the reference worker, a GPU or a core, the bench of the last task.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/device/lease.hpp"
#include "sandbox/contract/contract.hpp"
#include "sandbox/evaluator/gpu_slot.hpp"
#include "sandbox/judge/host_bench.hpp"
#include "sandbox/reference/worker.hpp"
#include "sandbox/timing/machine.hpp"

namespace warpsmith::sandbox {

/// Used by one thread, the one that lives longest: jails end with the thread that started them.
class Slot {
 public:
  /// `unsupported` where the core or the GPU is not ours to use.
  static Result<std::unique_ptr<Slot>> open(EvaluatorOptions options);

  const EvaluatorOptions& options() const { return options_; }
  GpuSlot* gpu() const { return gpu_.get(); }  // null: a CPU slot
  const Machine& machine() const { return machine_; }
  /// The view that contracts have of the slot.
  ContractSlot for_contracts() const;

  /// Reports go to `progress` from now on.
  void report_to(const Progress& progress) { progress_ = progress; }
  const Progress& progress() const { return progress_; }
  void tell(const std::string& what);

  /// Starts a reference worker if none lives, and does not wait for it.
  Result<void> begin_worker();
  /// The reference worker, once it is ready; starts one if none lives.
  OrFailure<ReferenceWorker*> ready_worker(Deadline deadline);
  /// Whether the worker ended since it was ready.
  bool worker_ended() { return worker_ && !worker_->alive(); }
  /// Drops the worker after a failure that leaves its state unknown: any but a refusal.
  void drop_worker_after(const Failure& failure) {
    if (!failure.is_refusal()) worker_.reset();
  }

  /// `worker_bytes`: what the reference worker needs of a GPU beside the bench.
  Result<std::unique_ptr<Bench>> make_bench(const TaskSignature& signature, uint64_t worker_bytes);
  /// The task's bench, which stays until another task's is made or `leave_room`.
  /// Waits for room that other slots will leave.
  Result<Bench*> bench_of(const Task& task, const IngestRecord& record, Deadline deadline);
  /// Whether the lease must be held before the bench is made.
  bool takes_much(const IngestRecord& record) const {
    return gpu_ && gpu_->takes_much(record.facts.signature, record.worker_bytes);
  }
  /// The stage of that bench.
  Result<CandidateStage*> stage();
  /// The bench, and its stage if one was made. Requires a bench.
  CandidatePlace place() const { return {*bench_, stage_.get()}; }
  /// Drops the bench of another task, before the worker loads this one.
  void make_room_for(const Task& task);
  /// Drops a bench that holds much of a GPU, on which other slots may wait for memory.
  void leave_room();

  /// The GPU, else the core, for this process alone; empty for a slot that has neither.
  Result<std::optional<DeviceLease>> lease(Deadline deadline);
  /// Compares a GPU with what it is now, once a candidate ran; empty on a CPU slot.
  CheckDevice device_check() const;

 private:
  /// A device that slots take turns on.
  struct Shared {
    std::string name;                   // for the report of a wait
    std::chrono::milliseconds silence;  // a longer wait is reported
    std::function<Result<DeviceLease>(Deadline)> acquire;
  };

  void drop_bench();
  Slot(EvaluatorOptions options, std::unique_ptr<GpuSlot> gpu, Machine machine)
      : options_(std::move(options)), gpu_(std::move(gpu)), machine_(std::move(machine)) {}
  Shared shared_device() const;
  Result<DeviceLease> lease_of(const Shared& device, Deadline deadline);

  EvaluatorOptions options_;
  std::unique_ptr<GpuSlot> gpu_;
  Machine machine_;
  Progress progress_;
  std::string last_told_;
  std::optional<ReferenceWorker> worker_;
  BenchMemory bench_memory_;
  std::string bench_key_;  // content hash of the task that `bench_` is for
  std::unique_ptr<Bench> bench_;
  std::unique_ptr<CandidateStage> stage_;
};

}  // namespace warpsmith::sandbox
