// SPDX-License-Identifier: Apache-2.0
// A tool executor's settings from the configuration of a run.
#pragma once

#include "actors/tools/tool_executor.hpp"
#include "runtime/config/run_config.hpp"
#include "sandbox/service/end_switch.hpp"

namespace warpsmith::actors {

/// `skill`: text of the contract's SKILL.md. `scratch`: the folder of the workspaces' folder.
/// `ender` ends the shells' service from another thread.
ToolExecutorSettings tool_executor_settings(const RunConfig& config, std::string skill,
                                            const std::filesystem::path& scratch,
                                            std::shared_ptr<sandbox::EndSwitch> ender);

}  // namespace warpsmith::actors
