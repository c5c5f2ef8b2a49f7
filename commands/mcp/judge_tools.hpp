// SPDX-License-Identifier: Apache-2.0
// The tools of `warpsmith mcp`: what `check` does, offered to other agents, and the arguments of
// their calls.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "commands/check/check_call.hpp"
#include "commands/mcp/mcp_session.hpp"
#include "runtime/json_text.hpp"
#include "runtime/run/owned_folder.hpp"

namespace warpsmith::commands {

struct JudgeToolOptions {
  std::vector<std::filesystem::path> tasks;  // files and folders whose tasks have ids
  int timeout_s = 300;                       // of one call
  int keep_s = 120;                          // how long the sandbox stays ready after a call
  int gpu = 0;
  int max_submissions = 0;  // per task; 0: no limit
};

/// list_tasks, read_task, check, verify, profile, explain_plan, submit.
std::vector<McpTool> judge_tools(const JudgeToolOptions& options);

// The arguments of a call.

/// Writes a solution given as files, {name: text}, to a temporary folder. Names are relative,
/// without "..".
Result<OwnedFolder> write_solution(const nlohmann::json& files);

/// What a call asks to judge.
struct ToolInput {
  CheckArguments check;
  std::string task;                          // as the call named it
  std::shared_ptr<const OwnedFolder> files;  // null: the solution is a folder of the caller
  bool shows_jail = false;                   // the text says what isolates the kernel
};

/// Reads task, solution or files, contract, numerics and jail. A task is a path or an id of those
/// in `places`. Unknown arguments are refused by name.
Result<ToolInput> read_tool_input(const nlohmann::json& arguments,
                                  const std::vector<std::filesystem::path>& places);

}  // namespace warpsmith::commands
