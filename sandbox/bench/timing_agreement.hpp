// SPDX-License-Identifier: Apache-2.0
// Compares three clocks on a kernel: events in this process, the launcher's graph as in a verdict,
// and the verifier's own clock over the sequential commit.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "sandbox/contract/device/cuda_compiler.hpp"
#include "sandbox/contract/device/device_launchers.hpp"
#include "sandbox/evaluator/slot.hpp"

namespace warpsmith::sandbox {

/// Kernels whose time is proportional to an amount of work, as submissions of contract `device`:
/// "loop" (only arithmetic), "copy" (bandwidth) and "strided" (a reduction with strided loads).
std::vector<std::string> timing_kernel_names();

/// x and y, 64 MiB of f32 each: together larger than any cache.
TaskSignature timing_signature();

/// kernels.cu and plan.toml with `amount` steps of the loop, or elements. `name` is one of
/// `timing_kernel_names`.
FileSet timing_kernel(const std::string& name, int64_t amount);

/// Largest relative deviation from the events' time, and the times from which it applies.
inline constexpr double agreement_share = 0.03;
inline constexpr double graph_bar_from_us = 20, commit_bar_from_us = 50;

/// Medians of one kernel at one amount of work, in microseconds.
struct AgreementRow {
  std::string kernel;
  double target_us = 0;
  double events_us = 0;  // plain launches in this process
  double graph_us = 0;   // as in a verdict: the launcher's events, an empty graph subtracted
  double commit_us = 0;  // the verifier's clock over the same calls, its no-op subtracted

  double graph_ratio() const { return events_us > 0 ? graph_us / events_us : 0; }
  double commit_ratio() const { return events_us > 0 ? commit_us / events_us : 0; }
  bool graph_bar() const { return events_us >= graph_bar_from_us; }
  bool commit_bar() const { return events_us >= commit_bar_from_us; }
  /// Also true if the bar does not apply.
  bool graph_agrees() const;
  bool commit_agrees() const;
};

/// The amount of work for `target_us`, if `amount` took `took_us`, of which `fixed_us` are
/// independent of the amount. At least 1.
int64_t scaled_amount(int64_t amount, double took_us, double target_us, double fixed_us);

struct AgreementJob {
  int gpu = 0;
  GpuSlot& slot;
  DeviceLaunchers& launchers;  // of that GPU
  CudaCompiler& compiler;
  std::vector<double> targets_us;
  int calls = 101;  // of each clock
  std::function<void(const std::string&)> progress;
};

/// Measures every timing kernel at every target; leases the GPU meanwhile. A faulting kernel is an
/// `infrastructure` error, since these kernels are part of the judge. May throw cuda::DeviceError.
Result<std::vector<AgreementRow>> measure_agreement(const AgreementJob& job, Deadline deadline);

}  // namespace warpsmith::sandbox
