// SPDX-License-Identifier: Apache-2.0
// What a plan's steps launch, recorded in a launcher of its own: never in one that is timed.
#pragma once

#include "sandbox/contract/device/device_contestant.hpp"
#include "sandbox/profile/profiled_kernel.hpp"

namespace warpsmith::sandbox {

/// Kernels and counters of one call of `spec` on set 0, whose inputs are written and whose outputs
/// are nobody's any more. `launchers` says what launchers are like; one is started for this and
/// killed. Whatever the candidate or the profiler does is an error that says so: `unsupported`
/// where the profiler refuses. Counters take at most half of the time, and their lack is no error.
Result<PartyKernels> record_device_kernels(const LauncherOptions& launchers,
                                           const DeviceContestantSpec& spec, Deadline deadline);

}  // namespace warpsmith::sandbox
