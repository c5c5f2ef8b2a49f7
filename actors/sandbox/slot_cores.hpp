// SPDX-License-Identifier: Apache-2.0
// The cores of the sandboxes' slots, among those that this process may use.
#pragma once

#include <vector>

#include "runtime/config/learner_config.hpp"
#include "runtime/config/sandbox_config.hpp"
#include "runtime/result.hpp"

namespace warpsmith::actors {

/// Where the slots are configured: error messages name a key, or an option of the command.
enum class SlotsOf : uint8_t { configuration, command };

/// The cores that this process was started with, ascending: a container's CPU set, `taskset`, or
/// all. Read once, because the process leaves some later.
const std::vector<int>& allowed_cores();

/// The core of slot `index`: counted from sandbox.first_core on, or from the end of `allowed`. The
/// error names the key to change.
Result<int> core_of_slot(const SandboxConfig& config, uint32_t index,
                         const std::vector<int>& allowed);

/// Checks that every slot has a core here. A slot on a GPU needs one too: its processes wait for
/// each other on one core, or the clock would differ from the device's by tens of microseconds.
Result<void> check_slot_cores(const SandboxConfig& config, SlotsOf origin = SlotsOf::configuration);

/// core_of_slot among `allowed_cores`; requires check_slot_cores.
int core_of(const SandboxConfig& config, uint32_t index);

/// The cores of `allowed_cores` that no slot has, ascending, for work that runs while slots time
/// kernels. Empty if there are not more cores than slots.
std::vector<int> cores_outside_slots(const SandboxConfig& config);

/// The cores that slot `index` compiles on: its own, on which nothing is timed during that, and
/// those that no slot has. Requires check_slot_cores.
std::vector<int> compile_cores_of(const SandboxConfig& config, uint32_t index);

/// Moves all threads of this process off the slots' cores, and so everything it starts later except
/// sandboxes. If no core would be left, it logs a warning and does nothing.
void leave_slot_cores(const SandboxConfig& config);

/// Moves them back to all of `allowed_cores`, for work during which no slot times anything.
void use_allowed_cores();

/// learner.threads, or fewer where its ranks would have more threads than this process has cores,
/// with a warning: threads that share a core wait for each other at every step.
int threads_within_cores(const LearnerConfig& config);

}  // namespace warpsmith::actors
