// SPDX-License-Identifier: Apache-2.0
// Which cores the sandboxes' slots have, of those that this process may use.
#pragma once

#include <vector>

#include "runtime/config/sandbox_config.hpp"
#include "runtime/result.hpp"

namespace warpsmith::actors {

/// The cores that this process was started with, ascending: a container's CPU set, `taskset`, or
/// all. Asked once, because the process leaves some later.
const std::vector<int>& allowed_cores();

/// The core of slot `index`: from sandbox.first_core on, or the last ones of `allowed`. The error
/// names the key to change.
Result<int> core_of_slot(const SandboxConfig& config, uint32_t index,
                         const std::vector<int>& allowed);

/// Whether every slot of a configuration has its core here. One on a GPU too: who waits for whom
/// there shares a core, or the clock would differ from the device's by tens of microseconds.
Result<void> check_slot_cores(const SandboxConfig& config);

/// The same among `allowed_cores`; call `check_slot_cores` before.
int core_of(const SandboxConfig& config, uint32_t index);

/// Those of `allowed_cores` that no slot has, ascending: for what runs while others are timed. None
/// where there are more slots than cores.
std::vector<int> cores_beside_slots(const SandboxConfig& config);

/// Keeps this process, and all it starts from now on but sandboxes, off the slots' cores. Does
/// nothing where no core would be left.
void leave_slot_cores(const SandboxConfig& config);

}  // namespace warpsmith::actors
