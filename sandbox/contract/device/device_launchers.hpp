// SPDX-License-Identifier: Apache-2.0
// The launchers of one GPU slot: those that wait warm, and one that may serve its candidate again.
#pragma once

#include <optional>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "sandbox/commit/shared_buffers.hpp"
#include "sandbox/contract/device/device_candidate.hpp"
#include "sandbox/launch/launcher_pool.hpp"
#include "sandbox/profile/profiled_kernel.hpp"

namespace warpsmith::sandbox {

/// Not thread-safe; the launchers are jails of the calling thread.
class DeviceLaunchers {
 public:
  explicit DeviceLaunchers(LauncherOptions options) : pool_(std::move(options)) {}

  /// Starts a launcher for the next candidate if none waits, and returns while it warms up.
  Result<void> begin_warming() { return pool_.refill(); }
  /// Returns once a launcher is warm.
  OrFailure<void> warm_up(Deadline deadline);

  /// The candidate in a jail of its own, over a bench's memory on the same GPU. A launcher that was
  /// kept is used; it takes only the candidate that it ran before.
  OrFailure<Contestant> start(const DeviceCandidate& candidate, const CandidateMemory& memory,
                              Deadline deadline);
  /// The process that was started last drops its plan and waits for another one of the same
  /// candidate, which saves making a GPU context beside what others time. A process that does not
  /// drop its plan is ended.
  void keep(Contestant contestant, Deadline deadline);
  /// Ends the kept launcher, if there is one: before another candidate's turn.
  void end_kept();

  /// What the candidate launches, in a launcher that is not timed; see `record_device_kernels`.
  OrFailure<PartyKernels> record(const DeviceCandidate& candidate, const CandidateMemory& memory,
                                 Deadline deadline) const;

 private:
  LauncherPool pool_;
  std::optional<FrameSocket> socket_;  // of the launcher that was started last
  std::optional<WarmLauncher> kept_;
};

}  // namespace warpsmith::sandbox
