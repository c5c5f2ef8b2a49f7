// SPDX-License-Identifier: Apache-2.0
// The agent's background jobs in one workspace: their numbers, and the texts about them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/parsed_call.hpp"
#include "runtime/result.hpp"
#include "sandbox/workspace/tool_services.hpp"

namespace warpsmith::sandbox {

/// Numbers count from 1 and are never used again in a trajectory, also after a resume. Errors of
/// code `invalid_argument` are mistakes of the agent.
class JobTools {
 public:
  /// `limits`: the request of a start but for id and command.
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
  enum class Known : uint8_t { running, read_to_its_end, lost };

  Result<std::string> ask(JobAction action, const ParsedCall& call, ToolServices& services);
  Result<JobReport> tell(JobAction action, uint32_t id, ToolServices& services) const;
  bool any_running() const;

  JobRequest limits_;
  std::map<uint32_t, Known> jobs_;
  bool paused_ = false;
};

}  // namespace warpsmith::sandbox
