// SPDX-License-Identifier: Apache-2.0
// Runs an agent's calls in its workspace. What needs a trusted judge is handed back as a frozen
// submission, so that an actor can send it on and wait without blocking.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/parsed_call.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/workspace/file_tools.hpp"
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
  size_t result_bytes = 16U << 10U;  // longer texts are cut in the middle
};

/// A submission that a sandbox must judge before the call has its answer.
struct JudgeNeeded {
  Submission submission;
  Request request = Request::verify;
};

/// Either the text for the agent, or what must be judged first.
struct ToolStep {
  std::string text;
  std::optional<JudgeNeeded> judge;
};

/// Owns the agent's todo list; borrows the workspace, which must outlive it. One call at a time.
class ToolBox {
 public:
  ToolBox(const Workspace& workspace, ToolBoxConfig config);

  /// An agent's mistake is a text that starts with "error: ". An Error is a failure of ours (shell
  /// jail, full disk) that must not reach the agent.
  Result<ToolStep> begin(const ParsedCall& call, ToolServices& services);

 private:
  Result<std::string> text_of(const ParsedCall& call, ToolServices& services);
  Result<std::string> shell(const ParsedCall& call, ToolServices& services) const;
  std::string todo(const ParsedCall& call);
  Result<ToolStep> freeze(Request request) const;

  const Workspace& workspace_;
  ToolBoxConfig config_;
  std::string todo_;
};

/// What the agent reads of a verdict: "compiled" for a compilation that passed, else its feedback.
std::string verdict_text(Request request, const Verdict& verdict);

/// What the agent reads of a command's end: output, errors, and how it ended if not well.
std::string shell_text(const ShellResult& result);

}  // namespace warpsmith::sandbox
