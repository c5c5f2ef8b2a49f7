// SPDX-License-Identifier: Apache-2.0
// The sandbox program behind a sandbox actor and behind a tool executor's shell.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "actors/sandbox/sandbox_backend.hpp"
#include "runtime/config/sandbox_config.hpp"
#include "sandbox/service/client.hpp"
#include "sandbox/workspace/tool_services.hpp"

namespace warpsmith::actors {

/// What every service of a run shares.
sandbox::SandboxOptions service_options(const SandboxConfig& config, const std::string& python);
/// The same on the core, and the GPU if it has one, of slot `index`.
sandbox::SandboxOptions slot_options(const SandboxConfig& config, const std::string& python,
                                     uint32_t index);

/// The same on the cores that no slot has: candidates and agents keep those busy as they like while
/// others are timed. Where none is left, on every core.
sandbox::SandboxOptions beside_slots_options(const SandboxConfig& config,
                                             const std::string& python);

/// Where a user wrote what is told of a contract: `sandbox.contract = "device"` in a
/// configuration, or nowhere but in a command's options.
enum class SlotsOf : uint8_t { configuration, command };

/// Says what this machine lacks for the slots of a configuration, cores, GPUs or cgroups that it
/// requires: better before a run than in it.
Result<void> check_slots(const SandboxConfig& config, SlotsOf origin = SlotsOf::configuration);

/// Starts a service on the thread that calls it. `ender`: ends it from another thread.
SandboxBackendFactory service_backend(sandbox::SandboxOptions options,
                                      std::shared_ptr<sandbox::EndSwitch> ender = nullptr);

/// Shell jails for a tool executor; the service starts with the first command.
std::function<Result<std::unique_ptr<sandbox::ToolServices>>()> shell_services(
    sandbox::SandboxOptions options, std::shared_ptr<sandbox::EndSwitch> ender = nullptr);

}  // namespace warpsmith::actors
