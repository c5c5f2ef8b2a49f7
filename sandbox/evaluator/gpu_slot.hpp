// SPDX-License-Identifier: Apache-2.0
// A GPU slot: the verifier's context, memory that benches leave to each other, warm launchers, the
// lease. What takes the place of a core and of the host's memory.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/cuda/clock_sample.hpp"
#include "runtime/result.hpp"
#include "sandbox/contract/device/device_candidate.hpp"
#include "sandbox/device/lease.hpp"
#include "sandbox/judge/gpu/gpu_bench.hpp"
#include "sandbox/launch/launcher_pool.hpp"
#include "sandbox/timing/machine.hpp"

namespace warpsmith::sandbox {

struct GpuSlotOptions {
  int gpu = 0;               // as the driver numbers it
  std::string program;       // warpsmith-sandbox
  std::string python;        // NVIDIA's libraries beside it serve `gemm` and `conv` steps
  std::string cache_folder;  // what is known of the machine
  std::string lease_folder = machine_leases;
  std::optional<int> core;  // of launchers; the calling thread's too
  bool require_cgroups = false;
};

/// For one thread, the one that lives longest. Members may throw cuda::DeviceError: the process is
/// then to be replaced.
class GpuSlot {
 public:
  /// `unsupported` without a driver, a device node, or a toolkit at build time.
  static Result<std::unique_ptr<GpuSlot>> open(const GpuSlotOptions& options);

  const Machine& machine() const { return machine_; }
  /// What device code is compiled for (device_architecture.hpp).
  std::string architecture() const;
  DeviceLimits device_limits() const { return verifier_->device_limits(); }
  const GpuAccess& access() const { return *launchers_.options().gpu; }
  /// The board's readings; null where it has none, and then why.
  cuda::ClockReader* clocks() const { return clocks_.get(); }
  const std::string& no_clocks() const { return no_clocks_; }
  /// The GPU for this process alone, among the services that share it.
  Result<DeviceLease> lease(Deadline deadline) const;
  /// For a process of ours that takes turns with leases.
  Result<UniqueFd> open_lease() const;
  /// `capacity`, with both numbers, for a task that does not fit.
  Result<std::unique_ptr<Bench>> make_bench(const TaskSignature& signature);
  /// Of earlier benches, none of which is left: the worker may need it for the next task. What any
  /// task's bench may use again stays.
  void release_large_memory();

  /// Starts a launcher for the next candidate if none waits, and returns while it warms up.
  Result<void> begin_warming() { return launchers_.refill(); }
  /// Returns once it is warm.
  Result<void> warm_up(Deadline deadline);
  /// A candidate of contract `device` in a jail of its own, over a bench of this slot. If a
  /// launcher is kept the candidate must be that one's.
  Result<Contestant> start(const DeviceCandidate& candidate, const Bench& bench, Deadline deadline);
  /// The process that was started last lets go of its plan and waits for another of the same
  /// candidate: a context less that comes up beside what others time. One that does not let go is
  /// ended.
  void keep(Contestant contestant, Deadline deadline);
  /// Ends the one that is kept, if any: before another candidate's turn.
  void end_kept();

  /// What the same candidate launches, in a launcher that is not timed; see
  /// `record_device_kernels`.
  Result<PartyKernels> record(const DeviceCandidate& candidate, const Bench& bench,
                              Deadline deadline) const;

  /// Bytes that nobody holds.
  uint64_t free_memory() const { return verifier_->free_memory(); }
  /// After a candidate that ended badly: does the device still compute right, and is there memory
  /// to go on with? An error says what is wrong: the device is then suspect.
  Result<void> check_health(uint64_t free_before, Deadline deadline);

 private:
  Result<void> check_memory(uint64_t free_before, Deadline deadline) const;
  GpuSlot(std::shared_ptr<GpuVerifier> verifier, Machine machine, LauncherOptions launchers,
          std::string lease_folder);

  std::shared_ptr<GpuVerifier> verifier_;
  Machine machine_;
  GpuBenchMemory memory_;
  LauncherPool launchers_;
  std::optional<FrameSocket> socket_;  // of the launcher that was started last
  std::optional<WarmLauncher> kept_;
  std::string lease_folder_;
  std::unique_ptr<cuda::ClockReader> clocks_;
  std::string no_clocks_;
};

}  // namespace warpsmith::sandbox
