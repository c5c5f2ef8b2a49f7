// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/device/device_contestant.hpp"

#include "runtime/codec.hpp"
#include "sandbox/launch/launcher_plan.hpp"

namespace warpsmith::sandbox {
namespace {

/// Sealed, so that the plan stays as it was checked.
Result<MemoryFile> packed_plan(const DeviceContestantSpec& spec) {
  const LauncherPlan plan{spec.plan, spec.layout, spec.input_bytes, spec.output_bytes,
                          spec.artefact};
  if (auto valid = plan.validate(); !valid) return tl::unexpected(std::move(valid.error()));
  const ByteBuffer bytes = codec::pack(plan);
  return MemoryFile::sealed_copy("launcher-plan", {bytes.data(), bytes.size()});
}

}  // namespace

OrFailure<WarmLauncher> start_device_contestant(LauncherPool& pool,
                                                const DeviceContestantSpec& spec,
                                                Deadline deadline) {
  auto launcher = pool.take(deadline);
  if (!launcher) return launcher;
  return hand_over(std::move(*launcher), spec, deadline);
}

OrFailure<WarmLauncher> hand_over(WarmLauncher launcher, const DeviceContestantSpec& spec,
                                  Deadline deadline) {
  const auto plan = packed_plan(spec);
  if (!plan) return tl::unexpected(plan.error());
  // The launcher is stopped; the message waits in the socket.
  const auto sent =
      launcher.socket.send_descriptors({plan->fd(), spec.inputs_fd, spec.outputs_fd}, deadline);
  if (!sent) return fail("launcher", sent.error());
  if (auto done = launcher.contestant.confine(deadline); !done) {
    return tl::unexpected(std::move(done.error()));
  }
  if (auto seen = launcher.contestant.process().observe(); !seen) {
    return tl::unexpected(std::move(seen.error()));
  }
  return launcher;
}

}  // namespace warpsmith::sandbox
