// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/device/device_recording.hpp"

#include "sandbox/profile/fold_calls.hpp"
#include "sandbox/profile/record_file.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr size_t recorded_calls = 6;  // the first is not counted

OrFailure<void> done(const CallResult& call, const char* what) {
  if (!call.fault) return {};
  return tl::unexpected(failure_of(*call.fault, what));
}

/// Loads the plan, makes the recorded calls and collects their records.
OrFailure<void> run_recorded(Contestant& launcher, Deadline deadline) {
  if (auto loaded = done(launcher.load(deadline), "loading"); !loaded) return loaded;
  for (size_t call = 0; call < recorded_calls; ++call) {
    if (auto called = done(launcher.call(0, deadline), "a recorded call"); !called) return called;
  }
  return done(launcher.collect(deadline), "collecting records");
}

OrFailure<void> run_counted(Contestant& launcher, Deadline deadline) {
  return done(launcher.count(Deadline::after(deadline.left() / 2)), "counting");
}

/// Reads what the launcher wrote; `counted` is the result of counting.
Result<PartyKernels> read_party(std::span<const std::byte> memory, const OrFailure<void>& counted) {
  const auto records = read_records(memory);
  if (!records) return tl::unexpected(records.error());
  auto folded = fold_calls(*records, recorded_calls);
  if (!folded) return tl::unexpected(std::move(folded.error()));
  PartyKernels party{.kernels = std::move(*folded)};
  if (counted) {
    add_counters(party, read_counters(memory));
  } else {
    party.uncounted = counted.error().message;
  }
  return party;
}

}  // namespace

OrFailure<PartyKernels> record_device_kernels(const LauncherOptions& launchers,
                                              const DeviceContestantSpec& spec, Deadline deadline) {
  const auto memory = MemoryFile::create("kernel-records", record_file_bytes);
  if (!memory) return tl::unexpected(memory.error());
  LauncherOptions recording = launchers;
  recording.records_fd = memory->fd();
  recording.calibration_calls = 1;  // nothing is timed here
  LauncherPool pool{recording};
  auto launcher = start_device_contestant(pool, spec, deadline);
  if (!launcher) return tl::unexpected(std::move(launcher.error()));
  auto ran = run_recorded(launcher->contestant, deadline);
  const auto counted = ran ? run_counted(launcher->contestant, deadline) : ran;
  (void)launcher->contestant.process().kill();  // from here on nothing writes to the memory
  if (!ran) return tl::unexpected(std::move(ran.error()));
  return read_party(memory->bytes(), counted);
}

}  // namespace warpsmith::sandbox
