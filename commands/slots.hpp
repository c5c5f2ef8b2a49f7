// SPDX-License-Identifier: Apache-2.0
// The sandbox slots on which a command judges.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "actors/sandbox/sandbox_backend.hpp"
#include "runtime/config/sandbox_config.hpp"
#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "sandbox/service/client.hpp"

namespace warpsmith::commands {
using namespace actors;

/// Checks the configuration's own rules; `invalid_config` names the key.
Result<void> valid_slots(const SandboxConfig& config);

/// The options of each slot's service. Fails if the configuration is invalid or this machine lacks
/// something for it. Moves this process off the slots' cores.
Result<std::vector<sandbox::SandboxOptions>> take_slots(const SandboxConfig& config);

/// One service per slot. `ender` ends them from another thread.
std::vector<SandboxBackendFactory> services_of(const std::vector<sandbox::SandboxOptions>& slots,
                                               const std::shared_ptr<sandbox::EndSwitch>& ender);

/// The device on which contract `host` runs a task: the one that the task names, else a GPU if
/// there is one.
DeviceClass host_device(const Task& task);

/// The contract that a slot needs: contract `host` on a task for CPUs runs on a slot of `cpu`.
std::string slot_contract(const std::string& contract, DeviceClass device);

/// Whether a contract times kernels and baselines on one core, whatever the task. False for an
/// unknown name.
bool times_one_core(const std::string& contract);

}  // namespace warpsmith::commands
