// SPDX-License-Identifier: Apache-2.0
// The sandbox program behind a sandbox actor and behind a tool executor's shell.
#pragma once

#include <functional>

#include "actors/sandbox_backend.hpp"
#include "runtime/config/sandbox_config.hpp"
#include "sandbox/service/client.hpp"
#include "sandbox/workspace/tool_services.hpp"

namespace warpsmith::actors {

/// What every service of a run shares; the core is filled in per slot.
sandbox::SandboxOptions service_options(const SandboxConfig& config, const std::string& python);

/// Says what is missing where the configuration requires cgroups: better before a run than in it.
Result<void> check_cgroups(const SandboxConfig& config);

/// Cores of slot `index`: of a machine with n cores, the last ones unless the configuration says.
int first_core_of(const SandboxConfig& config, uint32_t index);

/// True where a core is left beside the slots.
bool has_core_beside_slots(const SandboxConfig& config);

/// Keeps this process, and all it starts from now on but sandboxes, off the slots' cores. Does
/// nothing where no core would be left.
void leave_slot_cores(const SandboxConfig& config);

/// Starts a service on the thread that calls it.
SandboxBackendFactory service_backend(sandbox::SandboxOptions options);

/// Shell jails for a tool executor; the service starts with the first command.
std::function<Result<std::unique_ptr<sandbox::ToolServices>>()> shell_services(
    sandbox::SandboxOptions options);

}  // namespace warpsmith::actors
