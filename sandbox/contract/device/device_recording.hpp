// SPDX-License-Identifier: Apache-2.0
// Records what a plan's steps launch, in a launcher of its own: a timed launcher records nothing.
#pragma once

#include "sandbox/contract/device/device_contestant.hpp"
#include "sandbox/profile/profiled_kernel.hpp"

namespace warpsmith::sandbox {

/// Kernels and counters of one call of `spec` on set 0. Requires inputs in the set; overwrites its
/// outputs. Starts a launcher with the options `launchers`, and kills it. An error says what the
/// candidate or the profiler did; `unsupported` where the profiler refuses. Counters take at most
/// half of the time; missing ones are no error.
OrFailure<PartyKernels> record_device_kernels(const LauncherOptions& launchers,
                                              const DeviceContestantSpec& spec, Deadline deadline);

}  // namespace warpsmith::sandbox
