// SPDX-License-Identifier: Apache-2.0
// The slots that a command judges on, of a configuration that its options made.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "actors/sandbox/sandbox_backend.hpp"
#include "runtime/config/sandbox_config.hpp"
#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "sandbox/service/client.hpp"

namespace warpsmith::actors {

/// The configuration's own rules: `invalid_config` names the key.
Result<void> valid_slots(const SandboxConfig& config);

/// What each slot's service is started with. An error: the configuration is not valid, or this
/// machine lacks something for it. From then on this process is off the slots' cores.
Result<std::vector<sandbox::SandboxOptions>> take_slots(const SandboxConfig& config);

/// A service for each. `ender` ends them from another thread.
std::vector<SandboxBackendFactory> services_of(const std::vector<sandbox::SandboxOptions>& slots,
                                               const std::shared_ptr<sandbox::EndSwitch>& ender);

/// What contract `host` runs a task on: what the task names, else a GPU where there is one.
DeviceClass host_device(const Task& task);

/// The contract that a slot must be for: `host` on a task for CPUs needs no GPU.
std::string slot_contract(const std::string& contract, DeviceClass device);

}  // namespace warpsmith::actors
