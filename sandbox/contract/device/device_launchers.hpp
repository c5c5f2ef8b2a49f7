// SPDX-License-Identifier: Apache-2.0
// The launchers of one GPU slot: hands a candidate of contract `device` (plan, compiled kernels,
// shared memories) to a warm launcher, keeps one that may serve its candidate again, and records in
// a separate launcher what a plan launches, since a timed launcher records nothing.
#pragma once

#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "sandbox/commit/contestant.hpp"
#include "sandbox/commit/shared_buffers.hpp"
#include "sandbox/contract/device/device_candidate.hpp"
#include "sandbox/launch/launcher_pool.hpp"
#include "sandbox/plan/bound_plan.hpp"
#include "sandbox/profile/profiled_kernel.hpp"

namespace warpsmith::sandbox {

struct DeviceContestantSpec {
  const BoundPlan& plan;
  const std::string& artefact;  // the compiled kernels, a cubin; empty: no launches
  const BufferLayout& layout;
  // The inputs and parameters of all sets, and the outputs of all sets for only this contestant:
  // device memory as the driver exports it; memfds in tests.
  int inputs_fd = -1, outputs_fd = -1;
  uint64_t input_bytes = 0, output_bytes = 0;  // the memories' whole sizes
};

/// A contestant that is jailed, calibrated by no-ops and stopped, with its last filter in force.
/// Then `load` makes the plan ready; what the device refuses there is the candidate's fault
/// (`launch_error`, with the plan's line). An error here is internal.
OrFailure<WarmLauncher> start_device_contestant(LauncherPool& pool,
                                                const DeviceContestantSpec& spec,
                                                Deadline deadline);

/// The same in a launcher without a plan: a warm one, or one that released the plan of the same
/// candidate for other sizes.
OrFailure<WarmLauncher> hand_over(WarmLauncher launcher, const DeviceContestantSpec& spec,
                                  Deadline deadline);

/// Kernels and counters of one call of `spec` on set 0. Requires inputs in the set; overwrites its
/// outputs. Starts a launcher with the options `launchers`, and kills it. An error says what the
/// candidate or the profiler did; `unsupported` if the profiler refuses. Counters take at most half
/// of the time; missing ones are not an error.
OrFailure<CallKernels> record_device_kernels(const LauncherOptions& launchers,
                                             const DeviceContestantSpec& spec, Deadline deadline);

/// Not thread-safe; the launchers are jails of the calling thread.
class DeviceLaunchers {
 public:
  explicit DeviceLaunchers(LauncherOptions options) : pool_(std::move(options)) {}

  /// Starts a launcher for the next candidate if none waits, and returns while it warms up.
  Result<void> begin_warming() { return pool_.refill(); }
  /// Returns once a launcher is warm.
  OrFailure<void> warm_up(Deadline deadline);

  /// Starts the candidate in its own jail, over a bench's memory on the same GPU. A launcher that
  /// was kept is used; it takes only the candidate that it ran before.
  OrFailure<Contestant> start(const DeviceCandidate& candidate, const CandidateMemory& memory,
                              Deadline deadline);
  /// The process that was started last drops its plan and waits for another one of the same
  /// candidate, which saves making a GPU context while others are timed. A process that does not
  /// drop its plan is ended.
  void keep(Contestant contestant, Deadline deadline);
  /// Ends the kept launcher, if there is one: before another candidate's turn.
  void end_kept();

  /// What the candidate launches, in a launcher that is not timed; see `record_device_kernels`.
  OrFailure<CallKernels> record(const DeviceCandidate& candidate, const CandidateMemory& memory,
                                Deadline deadline) const;

 private:
  LauncherPool pool_;
  std::optional<FrameSocket> socket_;  // of the launcher that was started last
  std::optional<WarmLauncher> kept_;
};

}  // namespace warpsmith::sandbox
