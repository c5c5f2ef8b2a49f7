// SPDX-License-Identifier: Apache-2.0
// The tools of `warpsmith mcp`: what `check` does, for other agents.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "commands/mcp/mcp_session.hpp"

namespace warpsmith::commands {

struct JudgeToolOptions {
  std::vector<std::filesystem::path> tasks;  // files and folders whose tasks have ids
  int timeout_s = 300;                       // of one call
  int keep_s = 120;                          // how long the sandbox stays ready after a call
  int gpu = 0;
  int max_submissions = 0;  // per task; 0: no limit
};

/// list_tasks, check, verify, profile, explain_plan, submit.
std::vector<McpTool> judge_tools(const JudgeToolOptions& options);

}  // namespace warpsmith::commands
