// SPDX-License-Identifier: Apache-2.0
// The GPU of a slot: the verifier's context, memory that benches leave to each other, the lease. It
// takes the place of a core and of the host's memory.
#pragma once

#include <memory>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/cuda/clock_sample.hpp"
#include "runtime/device/lease.hpp"
#include "runtime/result.hpp"
#include "sandbox/device/gpu_access.hpp"
#include "sandbox/judge/gpu/gpu_bench.hpp"
#include "sandbox/timing/machine.hpp"

namespace warpsmith::sandbox {

struct GpuSlotOptions {
  int gpu = 0;               // as the driver numbers it
  std::string python;        // NVIDIA's libraries beside it serve `gemm` and `conv` steps
  std::string cache_folder;  // holds what was measured of the machine
  std::string lease_folder = machine_leases;
};

/// Used by one thread, the one that lives longest. Members may throw cuda::DeviceError; the process
/// must then be replaced.
class GpuSlot {
 public:
  /// `unsupported` without a driver, a device node, or a toolkit at build time.
  static Result<std::unique_ptr<GpuSlot>> open(const GpuSlotOptions& options);

  const Machine& machine() const { return machine_; }
  /// The architecture that device code is compiled for (device_architecture.hpp).
  std::string architecture() const;
  DeviceLimits device_limits() const { return verifier_->device_limits(); }
  const GpuAccess& access() const { return access_; }
  /// The board's readings; null where it has none, for the reason in `no_clocks`.
  cuda::ClockReader* clocks() const { return clocks_.get(); }
  const std::string& no_clocks() const { return no_clocks_; }
  /// The GPU for this process alone, in turns with the services that share it.
  Result<DeviceLease> lease(Deadline deadline) const;
  /// The lock that leases hold, for a process of ours that takes turns too.
  Result<UniqueFd> open_lease() const;
  /// `capacity`, with both numbers, for a task that does not fit beside `worker_bytes` of the
  /// reference worker.
  Result<std::unique_ptr<Bench>> make_bench(const TaskSignature& signature, uint64_t worker_bytes);
  /// Whether a task takes so much of the GPU's memory that evaluations of it must not overlap.
  bool takes_much(const TaskSignature& signature, uint64_t worker_bytes) const;
  /// Frees large memory of earlier benches, which the worker may need for the next task. Requires
  /// that no bench is left.
  void release_large_memory();
  /// Frees all of it. Requires that no bench is left.
  void release_memory() { memory_ = {}; }
  /// Bytes that the bench, or the last one, holds.
  uint64_t bench_memory() const { return memory_.held(); }

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

}  // namespace warpsmith::sandbox
