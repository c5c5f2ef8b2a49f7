// SPDX-License-Identifier: Apache-2.0
// Runs an agent's tool calls in its workspace. Calls that need a trusted judge return a frozen
// submission, which an actor can send on without blocking.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/parsed_call.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/workspace/file_tools.hpp"
#include "sandbox/workspace/job_tools.hpp"
#include "sandbox/workspace/solution.hpp"
#include "sandbox/workspace/tool_services.hpp"
#include "sandbox/workspace/workspace.hpp"

namespace warpsmith::sandbox {

struct ToolBoxConfig {
  std::string task_id;
  std::string contract = "cpu";
  std::string required_file = "kernel.cpp";  // in solution/, as the contract says
  std::vector<ToolSchema> tools;             // offered to the agent
  FileLimits files;
  SolutionLimits solution;
  uint32_t shell_timeout_ms = 10'000;
  uint32_t shell_output_bytes = 64U << 10U;
  uint64_t shell_memory_bytes = 1ULL << 30U;
  uint32_t most_jobs = 4;  // in the background, that run or have output left to read
  uint32_t job_lifetime_ms = 600'000;
  size_t result_bytes = 16U << 10U;  // longer texts are cut in the middle
};

/// A submission that a sandbox must judge before the call can be answered.
struct JudgeNeeded {
  Submission submission;
  Request request = Request::verify;
};

/// The text for the agent, or the submission to judge first.
struct ToolStep {
  std::string text;
  std::optional<JudgeNeeded> judge;
};

/// Owns the agent's todo list, and knows which files it has seen; borrows the workspace, which must
/// outlive it. One call at a time.
class ToolBox {
 public:
  ToolBox(const Workspace& workspace, ToolBoxConfig config);

  /// A mistake of the agent returns a text that starts with "error: ". An Error is a failure of the
  /// machine (shell jail, full disk), which must not reach the agent.
  Result<ToolStep> begin(const ParsedCall& call, ToolServices& services);
  /// The same for a call of an earlier workspace that had the same calls before. A background job
  /// is not started again; its number is known as that of a job that is gone.
  Result<ToolStep> repeat(const ParsedCall& call, ToolServices& services);
  /// Kills the background jobs. Call it before the workspace goes.
  Result<void> end_jobs(ToolServices& services);

 private:
  Result<std::string> text_of(const ParsedCall& call, ToolServices& services);
  Result<std::string> shell(const ParsedCall& call, ToolServices& services) const;
  Result<std::string> start_job(const ParsedCall& call, ToolServices& services);
  Result<void> check_known(const ParsedCall& call) const;
  std::string todo(const ParsedCall& call);
  Result<ToolStep> freeze(Request request, ToolServices& services);

  const Workspace& workspace_;
  ToolBoxConfig config_;
  JobTools jobs_;
  std::string todo_;
  std::set<std::string> known_;  // paths that the agent read or wrote
};

}  // namespace warpsmith::sandbox
