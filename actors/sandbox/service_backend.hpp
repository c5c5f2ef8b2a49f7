// SPDX-License-Identifier: Apache-2.0
// The sandbox program as the backend of a sandbox actor and of a tool executor's shell.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "actors/sandbox/sandbox_backend.hpp"
#include "actors/sandbox/slot_cores.hpp"
#include "runtime/config/sandbox_config.hpp"
#include "sandbox/service/client.hpp"
#include "sandbox/workspace/tool_services.hpp"

namespace warpsmith::actors {

/// The options that all services of a run share.
sandbox::SandboxOptions service_options(const SandboxConfig& config, const std::string& python);
/// The same, on the core of slot `index` and on its GPU if it has one.
sandbox::SandboxOptions slot_options(const SandboxConfig& config, const std::string& python,
                                     uint32_t index);

/// The same, on the cores that no slot has, so that compilers and agents do not disturb what is
/// timed. On every core if none is left.
sandbox::SandboxOptions beside_slots_options(const SandboxConfig& config,
                                             const std::string& python);

/// Checks that this machine has the cores, GPUs and required cgroups of the configured slots.
Result<void> check_slots(const SandboxConfig& config, SlotsOf origin = SlotsOf::configuration);

/// Starts a service on the calling thread. `ender` ends it from another thread.
SandboxBackendFactory service_backend(sandbox::SandboxOptions options,
                                      std::shared_ptr<sandbox::EndSwitch> ender = nullptr);

/// Shell jails for a tool executor; the service starts with the first command.
std::function<Result<std::unique_ptr<sandbox::ToolServices>>()> shell_services(
    sandbox::SandboxOptions options, std::shared_ptr<sandbox::EndSwitch> ender = nullptr);

}  // namespace warpsmith::actors
