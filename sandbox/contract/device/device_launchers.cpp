// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/device/device_launchers.hpp"

#include <utility>

#include "runtime/codec.hpp"
#include "sandbox/launch/launcher_plan.hpp"
#include "sandbox/profile/profiled_kernel.hpp"
#include "sandbox/profile/record_file.hpp"

namespace warpsmith::sandbox {
namespace {

/// Sealed, so that the plan stays as it was checked.
Result<MemoryFile> packed_plan(const DeviceContestantSpec& spec) {
  const LauncherPlan plan{spec.plan, spec.layout, spec.input_bytes, spec.output_bytes,
                          spec.artefact};
  TRY_VOID(plan.validate());
  const ByteBuffer bytes = codec::pack(plan);
  return MemoryFile::sealed_copy("launcher-plan", {bytes.data(), bytes.size()});
}

constexpr size_t recorded_calls = 6;  // the first is not counted

OrFailure<void> done(const CallResult& call, const char* what) {
  if (!call.fault) return {};
  return tl::unexpected(failure_of(*call.fault, what));
}

/// Loads the plan, makes the recorded calls and collects their records.
OrFailure<void> run_recorded(Contestant& launcher, Deadline deadline) {
  TRY_VOID(done(launcher.load(deadline), "loading"));
  for (size_t call = 0; call < recorded_calls; ++call) {
    TRY_VOID(done(launcher.call(0, deadline), "a recorded call"));
  }
  return done(launcher.collect(deadline), "collecting records");
}

OrFailure<void> run_counted(Contestant& launcher, Deadline deadline) {
  return done(launcher.count(Deadline::after(deadline.left() / 2)), "counting");
}

/// Reads what the launcher wrote; `counted` is the result of counting.
Result<CallKernels> read_call(std::span<const std::byte> memory, const OrFailure<void>& counted) {
  TRY(const auto records, read_records(memory));
  TRY(auto folded, fold_calls(records, recorded_calls));
  CallKernels call{.kernels = std::move(folded)};
  if (counted) {
    add_counters(call, read_counters(memory));
  } else {
    call.uncounted = counted.error().message;
  }
  return call;
}

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

OrFailure<WarmLauncher> start_device_contestant(LauncherPool& pool,
                                                const DeviceContestantSpec& spec,
                                                Deadline deadline) {
  TRY(auto launcher, pool.take(deadline));
  return hand_over(std::move(launcher), spec, deadline);
}

OrFailure<WarmLauncher> hand_over(WarmLauncher launcher, const DeviceContestantSpec& spec,
                                  Deadline deadline) {
  TRY(const auto plan, packed_plan(spec));
  // The launcher is stopped; the message waits in the socket.
  const auto sent =
      launcher.socket.send_descriptors({plan.fd(), spec.inputs_fd, spec.outputs_fd}, deadline);
  if (!sent) return fail("launcher", sent.error());
  TRY_VOID(launcher.contestant.confine(deadline));
  TRY_VOID(launcher.contestant.process().observe());
  return launcher;
}

OrFailure<CallKernels> record_device_kernels(const LauncherOptions& launchers,
                                             const DeviceContestantSpec& spec, Deadline deadline) {
  TRY(const auto memory, MemoryFile::create("kernel-records", record_file_bytes));
  LauncherOptions recording = launchers;
  recording.records_fd = memory.fd();
  recording.calibration_calls = 1;  // nothing is timed here
  LauncherPool pool{recording};
  TRY(auto launcher, start_device_contestant(pool, spec, deadline));
  auto ran = run_recorded(launcher.contestant, deadline);
  const auto counted = ran ? run_counted(launcher.contestant, deadline) : ran;
  (void)launcher.contestant.process().kill();  // from here on nothing writes to the memory
  if (!ran) return tl::unexpected(std::move(ran.error()));
  return read_call(memory.bytes(), counted);
}

OrFailure<void> DeviceLaunchers::warm_up(Deadline deadline) {
  if (kept_) return {};
  TRY_VOID(pool_.refill());
  return pool_.settle(deadline);
}

OrFailure<Contestant> DeviceLaunchers::start(const DeviceCandidate& candidate,
                                             const CandidateMemory& memory, Deadline deadline) {
  const DeviceContestantSpec spec = spec_of(candidate, memory);
  auto kept = std::exchange(kept_, std::nullopt);
  TRY(auto launcher, kept ? hand_over(std::move(*kept), spec, deadline)
                          : start_device_contestant(pool_, spec, deadline));
  socket_.emplace(std::move(launcher.socket));
  return std::move(launcher.contestant);
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

OrFailure<CallKernels> DeviceLaunchers::record(const DeviceCandidate& candidate,
                                               const CandidateMemory& memory,
                                               Deadline deadline) const {
  return record_device_kernels(pool_.options(), spec_of(candidate, memory), deadline);
}

}  // namespace warpsmith::sandbox
