// SPDX-License-Identifier: Apache-2.0
// What one slot owns: the reference worker, a GPU or a core, the bench of the last task.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/cuda/clock_sample.hpp"
#include "runtime/device/lease.hpp"
#include "runtime/result.hpp"
#include "sandbox/contract/contract.hpp"
#include "sandbox/device/gpu_access.hpp"
#include "sandbox/judge/gpu/gpu_bench.hpp"
#include "sandbox/judge/host_bench.hpp"
#include "sandbox/reference/baseline.hpp"
#include "sandbox/reference/worker.hpp"
#include "sandbox/timing/machine.hpp"

namespace warpsmith::sandbox {

struct GpuSlotOptions {
  int gpu = 0;               // as the driver numbers it
  std::string python;        // NVIDIA's libraries next to it serve `gemm` and `conv` steps
  std::string cache_folder;  // contains what was measured of the machine
  std::string lease_folder = default_lease_folder;
};

/// The GPU of a slot: the verifier's context, memory that benches leave to each other, the lease.
/// It takes the place of a core and of the host's memory. Used by one thread, the one that lives
/// longest. Members may throw cuda::DeviceError; the process must then be replaced.
class GpuSlot {
 public:
  /// `unsupported` without a driver, a device node, or a toolkit at build time.
  static Result<std::unique_ptr<GpuSlot>> open(const GpuSlotOptions& options);

  const Machine& machine() const { return machine_; }
  /// The architecture that device code is compiled for (cuda_toolchain.hpp).
  std::string architecture() const;
  DeviceLimits device_limits() const { return verifier_->device_limits(); }
  const GpuAccess& access() const { return access_; }
  /// The board's readings; null if it has none, for the reason in `no_clocks`.
  cuda::ClockReader* clocks() const { return clocks_.get(); }
  const std::string& no_clocks() const { return no_clocks_; }
  /// Exclusive use of the GPU, in turns with the services that share it.
  Result<DeviceLease> lease(Deadline deadline) const;
  /// A share of the GPU, for work that others may disturb.
  Result<DeviceShare> share() const;
  /// Room in its memory, for work that needs much or little of it.
  Result<DeviceRoom> room(bool much, Deadline deadline) const;
  /// The lock that leases hold, for a child process that takes turns too.
  Result<UniqueFd> open_lease() const;
  /// `capacity`, with both numbers, for a task that does not fit next to `worker_bytes` of the
  /// reference worker.
  Result<std::unique_ptr<Bench>> make_bench(const TaskSignature& signature, uint64_t worker_bytes);
  /// Whether a task takes so much of the GPU's memory that evaluations of it must not overlap.
  bool needs_exclusive_gpu(const TaskSignature& signature, uint64_t worker_bytes) const;
  /// Frees large memory of earlier benches, which the worker may need for the next task. Requires
  /// that no bench is left.
  void release_large_memory();
  /// Frees all of it. Requires that no bench is left.
  void release_memory() { memory_ = {}; }
  /// Bytes that the bench, or the last one, uses.
  uint64_t bench_memory() const { return memory_.held(); }

  uint64_t memory_bytes() const { return static_cast<uint64_t>(verifier_->facts().memory_bytes); }
  /// Bytes that are free on the device.
  uint64_t free_memory() const { return verifier_->free_memory(); }
  /// Checks, after a candidate that ended badly, that the device still computes right and got
  /// enough of its memory back. An error says what is wrong; the device is then suspect.
  Result<void> check_health(uint64_t free_before, Deadline deadline);

 private:
  Result<void> check_memory(uint64_t free_before, Deadline deadline) const;
  GpuSlot(std::shared_ptr<GpuVerifier> verifier, Machine machine, GpuAccess access,
          std::string lease_folder);

  std::shared_ptr<GpuVerifier> verifier_;
  Machine machine_;
  GpuBenchMemory memory_;
  GpuAccess access_;
  std::string lease_folder_;
  std::unique_ptr<cuda::ClockReader> clocks_;
  std::string no_clocks_;
};

/// Used by one thread, the one that lives longest: jails end with the thread that started them.
class Slot {
 public:
  /// `unsupported` if this process may not use the core or the GPU.
  static Result<std::unique_ptr<Slot>> open(SandboxOptions options);

  const SandboxOptions& options() const { return options_; }
  /// The baselines that are timed in addition to eager and torch.compile.
  const std::vector<Baseline>& further() const { return further_; }
  GpuSlot* gpu() const { return gpu_.get(); }  // null: a CPU slot
  const Machine& machine() const { return machine_; }
  /// The view that contracts have of the slot.
  ContractSlot for_contracts() const;

  /// Reports go to `progress` from now on.
  void set_progress(Progress progress) { progress_ = std::move(progress); }
  const Progress& progress() const { return progress_; }
  void report(const std::string& what);

  /// Starts a reference worker if none is running, and does not wait for it.
  Result<void> begin_worker();
  /// The reference worker, once it is ready; starts one if none is running.
  OrFailure<ReferenceWorker*> ready_worker(Deadline deadline);
  /// Whether the worker ended since it was ready.
  bool worker_ended() { return worker_ && !worker_->alive(); }
  /// Drops the worker after a failure that leaves its state unknown: any but a refusal.
  void drop_worker_after(const Failure& failure) {
    if (!failure.is_refusal()) worker_.reset();
  }

  /// `worker_bytes`: what the reference worker needs of a GPU in addition to the bench.
  Result<std::unique_ptr<Bench>> make_bench(const TaskSignature& signature, uint64_t worker_bytes);
  /// The task's bench, which stays until another task's is made or `release_large_bench`.
  /// Waits for room that other slots will leave.
  Result<Bench*> bench_of(const Task& task, const IngestRecord& record, Deadline deadline);
  /// The stage of that bench.
  Result<CandidateStage*> stage();
  /// The bench, and its stage if one was made. Requires a bench.
  CandidatePlace place() const { return {*bench_, stage_.get()}; }
  /// Drops the bench of another task, before the worker loads this one.
  void drop_bench_of_other_task(const Task& task);
  /// Drops a bench that holds much of a GPU, on which other slots may wait for memory.
  void release_large_bench();

  /// Room for an evaluation in the GPU's memory; empty on a CPU slot.
  Result<std::optional<DeviceRoom>> room_for(const IngestRecord& record, Deadline deadline);
  /// The same for work that needs much or little of it. Requires a GPU.
  Result<DeviceRoom> room(bool much, Deadline deadline);
  /// Exclusive use of the GPU, else of the core; empty for a slot that has neither.
  Result<std::optional<DeviceLease>> lease(Deadline deadline);
  /// Compares the GPU's state now with its state at each later call; empty on a CPU slot.
  CheckDevice device_check() const;

 private:
  void drop_bench();
  Slot(SandboxOptions options, std::vector<Baseline> further, std::unique_ptr<GpuSlot> gpu)
      : options_(std::move(options)),
        further_(std::move(further)),
        gpu_(std::move(gpu)),
        machine_(gpu_ ? gpu_->machine() : known_machine(options_.cache_dir)) {}
  template <class Acquire>
  std::invoke_result_t<Acquire, Deadline> reported(const std::string& what,
                                                   std::chrono::milliseconds silence,
                                                   Deadline deadline, const Acquire& acquire);

  SandboxOptions options_;
  std::vector<Baseline> further_;
  std::unique_ptr<GpuSlot> gpu_;
  Machine machine_;
  Progress progress_;
  std::string last_report_;
  std::optional<ReferenceWorker> worker_;
  BenchMemory bench_memory_;
  std::string bench_key_;  // content hash of the task that `bench_` is for
  std::unique_ptr<Bench> bench_;
  std::unique_ptr<CandidateStage> stage_;
};

}  // namespace warpsmith::sandbox
