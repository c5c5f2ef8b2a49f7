// SPDX-License-Identifier: Apache-2.0
// The tools that work on files. Each returns the text for the agent; an error is text for it too.
#pragma once

#include <chrono>
#include <string>

#include "runtime/model_turn.hpp"
#include "runtime/result.hpp"
#include "sandbox/workspace/workspace.hpp"

namespace warpsmith::sandbox {

struct FileLimits {
  size_t file_bytes = 256U << 10U;         // largest file that a tool reads or writes
  size_t files = 64;                       // in the whole workspace
  size_t matches = 100;                    // shown by glob and grep
  std::chrono::milliseconds search{2000};  // time limit of one grep
};

/// Requires a call that `check_call` accepted.
Result<std::string> read_tool(const Workspace& workspace, const ParsedCall& call,
                              FileLimits limits);
Result<std::string> write_tool(const Workspace& workspace, const ParsedCall& call,
                               FileLimits limits);
Result<std::string> edit_tool(const Workspace& workspace, const ParsedCall& call,
                              FileLimits limits);
Result<std::string> multi_edit_tool(const Workspace& workspace, const ParsedCall& call,
                                    FileLimits limits);
Result<std::string> glob_tool(const Workspace& workspace, const ParsedCall& call,
                              FileLimits limits);
Result<std::string> grep_tool(const Workspace& workspace, const ParsedCall& call,
                              FileLimits limits);

}  // namespace warpsmith::sandbox
