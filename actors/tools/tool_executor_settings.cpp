// SPDX-License-Identifier: Apache-2.0
#include "actors/tools/tool_executor_settings.hpp"

#include "actors/sandbox/service_backend.hpp"
#include "sandbox/contract/registry.hpp"
#include "sandbox/workspace/tool_schemas.hpp"

namespace warpsmith::actors {

ToolExecutorSettings tool_executor_settings(const RunConfig& config, std::string skill,
                                            const std::filesystem::path& scratch,
                                            std::shared_ptr<sandbox::EndSwitch> ender) {
  const ToolExecutorConfig& tools = config.tool_executor;
  ToolExecutorSettings settings;
  settings.workspaces = scratch / "workspaces";
  settings.skill = std::move(skill);
  settings.box.contract = config.sandbox.contract;
  settings.box.required_file = sandbox::contract_named(config.sandbox.contract).required_file;
  settings.box.tools = sandbox::tools_named(config.agent.tools).value();
  settings.box.solution.bytes = static_cast<size_t>(config.sandbox.limits.source_bytes);
  settings.box.shell_timeout_ms = static_cast<uint32_t>(tools.shell_timeout.count());
  settings.box.shell_output_bytes = static_cast<uint32_t>(tools.output_bytes);
  settings.box.shell_memory_bytes = static_cast<uint64_t>(tools.shell_memory_bytes);
  settings.box.most_jobs = static_cast<uint32_t>(tools.jobs);
  settings.box.job_lifetime_ms = static_cast<uint32_t>(tools.job_lifetime.count());
  settings.services =
      shell_services(beside_slots_options(config.sandbox, /*python=*/{}), std::move(ender));
  return settings;
}

}  // namespace warpsmith::actors
