// SPDX-License-Identifier: Apache-2.0
// The services of a run's sandboxes and shells: their options, from its configuration, and how the
// actors start them. Tests give sandbox actors scripted backends.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "actors/sandbox/slot_cores.hpp"
#include "runtime/config/sandbox_config.hpp"
#include "runtime/result.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/service/client.hpp"
#include "sandbox/workspace/tool_box.hpp"

namespace warpsmith::actors {

/// Makes a backend on the thread that will use it; called again after a loss.
using SandboxBackendFactory = std::function<Result<std::unique_ptr<sandbox::Backend>>()>;

/// The options that all services of a run share.
sandbox::SandboxOptions service_options(const SandboxConfig& config, const std::string& python);
/// The same, on the core of slot `index` and on its GPU if it has one.
sandbox::SandboxOptions slot_options(const SandboxConfig& config, const std::string& python,
                                     uint32_t index);

/// The same, on the cores that no slot has, so that compilers and agents do not disturb what is
/// timed. On every core if none is left.
sandbox::SandboxOptions options_outside_slots(const SandboxConfig& config,
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
