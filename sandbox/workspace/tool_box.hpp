// SPDX-License-Identifier: Apache-2.0
// Runs an agent's tool calls in its workspace. Calls that need a trusted judge return a frozen
// submission, which an actor can send on without blocking.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/config/rollout_config.hpp"
#include "runtime/model_turn.hpp"
#include "runtime/result.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/protocol/requests.hpp"
#include "sandbox/workspace/file_tools.hpp"
#include "sandbox/workspace/solution.hpp"
#include "sandbox/workspace/workspace.hpp"

namespace warpsmith::sandbox {

/// The service that tools need from outside the workspace: the shell jail. Judging goes through the
/// caller of `ToolBox` instead. Implemented by the sandbox program, and by scripts in tests. The
/// implementation sets each call's deadline. A failure of the machine is an Error, never text for
/// the agent.
class ToolServices {
 public:
  virtual ~ToolServices() = default;
  virtual Result<ShellResult> shell(const ShellRequest& request) = 0;
  /// Jobs end with the service; their state is then `unknown`.
  virtual Result<JobReport> job(const JobRequest& request) = 0;
};

/// The agent's background jobs in one workspace: their numbers, and the texts about them. Numbers
/// count from 1 and are never used again in a trajectory, also after a resume. Errors of
/// code `invalid_argument` are mistakes of the agent.
class JobTools {
 public:
  /// `limits`: the request of a start without id and command.
  explicit JobTools(JobRequest limits) : limits_(std::move(limits)) {}

  Result<std::string> start(const std::string& command, ToolServices& services);
  /// Counts a job of an earlier workspace, which is not started again.
  void count_lost();
  /// For `bash_output`.
  Result<std::string> look(const ParsedCall& call, ToolServices& services);
  /// For `kill_bash`.
  Result<std::string> end(const ParsedCall& call, ToolServices& services);

  /// Stops the jobs before a judge measures; `resume` continues them. Without jobs neither asks
  /// the service.
  Result<void> pause(ToolServices& services);
  Result<void> resume(ToolServices& services);
  /// Kills all jobs, before the workspace goes.
  Result<void> forget(ToolServices& services);

 private:
  enum class Known : uint8_t { running, shown, lost };

  Result<std::string> ask(JobAction action, const ParsedCall& call, ToolServices& services);
  Result<JobReport> send(JobAction action, uint32_t id, ToolServices& services) const;
  bool any_running() const;

  JobRequest limits_;
  std::map<uint32_t, Known> jobs_;
  bool paused_ = false;
};

struct ToolBoxConfig {
  std::string task_id;
  std::string contract = "cpu";
  std::string required_file = "kernel.cpp";  // in solution/, as the contract says
  std::vector<ToolSchema> tools;             // offered to the agent
  FileLimits files;
  SolutionLimits solution;
  ToolExecutorConfig shell;
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
