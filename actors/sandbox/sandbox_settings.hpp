// SPDX-License-Identifier: Apache-2.0
// A sandbox's settings and backends from the configuration of a run.
#pragma once

#include "actors/sandbox/sandbox.hpp"
#include "runtime/config/sandbox_config.hpp"
#include "sandbox/service/end_switch.hpp"

namespace warpsmith::actors {

SandboxSettings sandbox_settings(const SandboxConfig& config);

/// The services of slot `index`. A compiler gets a service of its own only where a core is left
/// beside the slots: on a slot's core it would disturb what is timed.
SandboxBackends slot_backends(const SandboxConfig& config, const std::string& python,
                              uint32_t index, const std::shared_ptr<sandbox::EndSwitch>& ender);

}  // namespace warpsmith::actors
