// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/device/device_launchers.hpp"

#include <utility>

#include "sandbox/contract/device/device_contestant.hpp"
#include "sandbox/contract/device/device_recording.hpp"

namespace warpsmith::sandbox {
namespace {

/// Refers to both.
DeviceContestantSpec spec_of(const DeviceCandidate& candidate, const CandidateMemory& memory) {
  return {.plan = candidate.plan,
          .artefact = candidate.cubin,
          .layout = memory.layout,
          .inputs_fd = memory.inputs,
          .outputs_fd = memory.outputs,
          .input_bytes = memory.input_bytes,
          .output_bytes = memory.output_bytes};
}

}  // namespace

OrFailure<void> DeviceLaunchers::warm_up(Deadline deadline) {
  if (kept_) return {};
  if (auto filled = pool_.refill(); !filled) return tl::unexpected(filled.error());
  return pool_.settle(deadline);
}

OrFailure<Contestant> DeviceLaunchers::start(const DeviceCandidate& candidate,
                                             const CandidateMemory& memory, Deadline deadline) {
  const DeviceContestantSpec spec = spec_of(candidate, memory);
  auto kept = std::exchange(kept_, std::nullopt);
  auto launcher = kept ? hand_over(std::move(*kept), spec, deadline)
                       : start_device_contestant(pool_, spec, deadline);
  if (!launcher) return tl::unexpected(std::move(launcher.error()));
  socket_.emplace(std::move(launcher->socket));
  return std::move(launcher->contestant);
}

void DeviceLaunchers::keep(Contestant contestant, Deadline deadline) {
  if (contestant.release(deadline).fault) {
    (void)contestant.process().kill();
    return;
  }
  kept_.emplace(WarmLauncher{std::move(contestant), std::move(*socket_)});
}

void DeviceLaunchers::end_kept() {
  if (kept_) (void)kept_->contestant.process().kill();
  kept_.reset();
}

OrFailure<PartyKernels> DeviceLaunchers::record(const DeviceCandidate& candidate,
                                                const CandidateMemory& memory,
                                                Deadline deadline) const {
  return record_device_kernels(pool_.options(), spec_of(candidate, memory), deadline);
}

}  // namespace warpsmith::sandbox
