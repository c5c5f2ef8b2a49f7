// SPDX-License-Identifier: Apache-2.0
// The answer to `read_task`: all that an agent needs to solve a task that it has not seen. Pure.
#pragma once

#include <string>

#include "commands/mcp/mcp_session.hpp"
#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "sandbox/contract/contract.hpp"
#include "sandbox/workspace/task_text.hpp"

namespace warpsmith::commands {

/// The contract of a call if it names one, else the first that runs on the task's device.
Result<const sandbox::ContractEntry*> contract_for(const Task& task, const std::string& named);

/// The task's text, tensors, extents, further sizes and times, the contract's entry point, headers,
/// compile line and `skill` (its SKILL.md without the workspace and the tools that agents in
/// training have), and the arguments of a `submit` call to fill in. `named`: the task as the call
/// named it.
Result<McpAnswer> task_answer(const Task& task, const TaskFacts& facts,
                              const sandbox::ContractText& contract, const std::string& named);

}  // namespace warpsmith::commands
