// SPDX-License-Identifier: Apache-2.0
// The launcher: a trusted, jailed process that executes one candidate's launch plans. It starts
// before its candidate is known and serves no other. No host code of the candidate runs in it.
// `PlanDevice` is the device that it executes plans on: a GPU, or a test's stand-in for one.
//
// It starts warm: the device is open and no-ops are answered. It receives a plan over its socket;
// `confine` accepts the plan and the memories and installs the last filter; `load` prepares the
// plan; `run` executes it. After `release`, if the device supports it, the same candidate's plan
// for other sizes can follow. After a fault of the device it answers no further command.
//
// A launcher may be started to record: `collect` then writes what the runs launched to another
// shared memory (record_file.hpp), and `count` adds hardware counters. Its times never enter a
// verdict.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/cuda/kernel_record.hpp"
#include "runtime/process/unique_fd.hpp"
#include "runtime/result.hpp"
#include "sandbox/launch/launcher_plan.hpp"

namespace warpsmith::sandbox {

/// The shared memories as received. The device must map inputs read-only.
struct LauncherMemories {
  UniqueFd inputs, outputs;
};

/// Holds one plan at a time. Every member may throw cuda::DeviceError for a fault of the device;
/// the process must then end.
class PlanDevice {
 public:
  PlanDevice() = default;
  PlanDevice(const PlanDevice&) = delete;
  PlanDevice& operator=(const PlanDevice&) = delete;
  virtual ~PlanDevice() = default;

  /// Acquires what the filter of `confine` would block. A failure is the machine's, not the plan's.
  virtual Result<void> prepare(LauncherPlan plan, LauncherMemories memories) = 0;
  /// Installs the system call filter under which the candidate's kernels run; call it once.
  virtual Result<void> confine() = 0;
  /// Prepares every set without running anything of the candidate. An error is the device's reason
  /// for refusing the plan and names its line.
  virtual Result<void> load() = 0;
  /// Whether it takes one plan after another; false if a candidate's code is host code.
  virtual bool releases() const = 0;
  /// Undoes `load` and `prepare`: drops the plan and its memories.
  virtual void release() = 0;

  /// Executes the plan on one set and returns the time of its steps on the device. Requires `load`
  /// and a set of the layout.
  virtual std::chrono::nanoseconds run(uint32_t set) = 0;
  /// Does everything that `run` does except the steps.
  virtual std::chrono::nanoseconds noop() = 0;

  /// What the plan's steps launched in all `run`s so far, in order. Call it once, on a device
  /// opened to record. An error is the profiler's reason for refusing, now or at opening.
  virtual Result<std::vector<cuda::KernelRecord>> records() = 0;
  /// Hardware counters of each kernel of one more call on set 0, repeated as often as the counters
  /// need. Call it after `records`. An error is the profiler's reason for refusing.
  virtual Result<std::vector<cuda::KernelCounters>> counters() = 0;
};

/// Recording slows every run, so timed runs are never recorded.
enum class Recording : uint8_t { off, on };

/// Opens the device that a launcher executes plans on.
using OpenDevice = Result<std::unique_ptr<PlanDevice>> (*)(Recording);

/// Opens GPU 0 of those visible to this process and makes its context. `unsupported` without a
/// driver, or in a build without a CUDA toolkit.
Result<std::unique_ptr<PlanDevice>> open_cuda_device(Recording recording);

inline constexpr int launcher_control_fd = 3;
inline constexpr int launcher_socket_fd = 4;
inline constexpr int launcher_records_fd = 5;  // only of a launcher that records

/// The command line of a launcher, after the program's name: the mode, and one more word if it
/// records.
inline constexpr const char* launcher_mode = "launcher";
inline constexpr const char* recording_name = "recording";

/// Serves one candidate on the device that `open` returns. Returns only if it cannot begin: the
/// exit code.
int run_launcher(OpenDevice open, Recording recording);

}  // namespace warpsmith::sandbox
