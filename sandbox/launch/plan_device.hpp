// SPDX-License-Identifier: Apache-2.0
// What carries out a plan inside the launcher's process: a GPU, or this machine's processor in its
// stead.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/cuda/kernel_counters.hpp"
#include "runtime/cuda/kernel_record.hpp"
#include "runtime/process/unique_fd.hpp"
#include "runtime/result.hpp"
#include "sandbox/launch/launcher_plan.hpp"

namespace warpsmith::sandbox {

/// The shared memories as they arrive: inputs are to be mapped read-only.
struct LauncherMemories {
  UniqueFd inputs, outputs;
};

/// One plan at a time. Every member may throw cuda::DeviceError where the device reports a fault;
/// the process is then to end.
class PlanDevice {
 public:
  PlanDevice() = default;
  PlanDevice(const PlanDevice&) = delete;
  PlanDevice& operator=(const PlanDevice&) = delete;
  virtual ~PlanDevice() = default;

  /// Takes what it must have before the filter of `confine` is in force. Failures are ours.
  virtual Result<void> prepare(LauncherPlan plan, LauncherMemories memories) = 0;
  /// The system call filter under which the candidate's kernels run: once.
  virtual Result<void> confine() = 0;
  /// Makes every set ready and runs nothing of the candidate. An error is what the device refuses
  /// about the plan, naming its line.
  virtual Result<void> load() = 0;
  /// Whether it can be given one plan after another: not where a candidate's code is host code.
  virtual bool releases() const = 0;
  /// Undoes `load` and `prepare`: nothing of the plan and its memories is left here.
  virtual void release() = 0;

  /// Carries out the plan on one set; how long its steps took on the device. Requires `load` and a
  /// set of the layout.
  virtual std::chrono::nanoseconds run(uint32_t set) = 0;
  /// The same without any step: what else a `run` does is done.
  virtual std::chrono::nanoseconds noop() = 0;

  /// What the plan's steps launched in all `run`s so far, in order; once. Of a device that was
  /// opened to record. An error is what its profiler refuses, now or when it was opened.
  virtual Result<std::vector<cuda::KernelRecord>> records() = 0;
  /// After `records`: what hardware counters say of each kernel of one more call on set 0, which is
  /// made as often as its counters want. An error is what the profiler refuses.
  virtual Result<std::vector<cuda::KernelCounters>> counters() = 0;
};

/// Recording costs time in every run: what is timed is never recorded.
enum class Recording : uint8_t { off, on };

/// GPU number 0 of those that this process can see, with its context made. `unsupported` without a
/// driver, or where the program was built without a CUDA toolkit.
Result<std::unique_ptr<PlanDevice>> open_cuda_device(Recording recording);

/// The processor. For tests of everything around a GPU on machines without one: its times say
/// nothing about any GPU, its kernels are plain C++ compiled from CUDA's common subset
/// (software_kernels.hpp), and what it judges is of the lowered trust class.
std::unique_ptr<PlanDevice> make_software_device(Recording recording);

}  // namespace warpsmith::sandbox
