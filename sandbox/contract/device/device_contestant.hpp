// SPDX-License-Identifier: Apache-2.0
// Starts a candidate of contract `device`: hands a warm launcher the plan, the compiled kernels and
// the shared memories.
#pragma once

#include <string>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "sandbox/commit/contestant.hpp"
#include "sandbox/commit/shared_buffers.hpp"
#include "sandbox/launch/launcher_pool.hpp"
#include "sandbox/plan/bound_plan.hpp"

namespace warpsmith::sandbox {

struct DeviceContestantSpec {
  const BoundPlan& plan;
  const std::string& artefact;  // the compiled kernels, a cubin; empty: no launches
  const BufferLayout& layout;
  // The inputs and parameters of all sets, and the outputs of all sets for this contestant alone:
  // device memory as the driver exports it; memfds in tests.
  int inputs_fd = -1, outputs_fd = -1;
  uint64_t input_bytes = 0, output_bytes = 0;  // the memories' whole sizes
};

/// A contestant that is jailed, calibrated by no-ops and stopped, with its last filter in force.
/// Then `load` makes the plan ready; what the device refuses there is the candidate's fault
/// (`launch_error`, with the plan's line). An error here is a failure of ours.
OrFailure<WarmLauncher> start_device_contestant(LauncherPool& pool,
                                                const DeviceContestantSpec& spec,
                                                Deadline deadline);

/// The same in a launcher that holds no plan: a warm one, or one that released the plan of the same
/// candidate for other sizes.
OrFailure<WarmLauncher> hand_over(WarmLauncher launcher, const DeviceContestantSpec& spec,
                                  Deadline deadline);

}  // namespace warpsmith::sandbox
