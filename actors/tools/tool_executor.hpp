// SPDX-License-Identifier: Apache-2.0
// ToolExecutor: runs the model's calls in workspaces. Owns the workspace folders of its
// trajectories, one shell jail at a time and the background jobs, on its own thread; spawned and
// watched by the supervisor; bounded by the trajectories in flight. When it dies, its jobs end, its
// folders are removed and rollouts repeat their calls at another executor.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "actors/base/actor_state.hpp"
#include "actors/protocol/interfaces.hpp"
#include "runtime/config/run_config.hpp"
#include "sandbox/service/client.hpp"
#include "sandbox/workspace/tool_box.hpp"
#include "sandbox/workspace/workspace.hpp"

namespace warpsmith::actors {

struct ToolExecutorSettings {
  std::filesystem::path workspaces;  // parent of the workspace folders
  std::string skill;                 // text of SKILL.md
  sandbox::ToolBoxConfig box;        // task_id is set per workspace
  /// Called on the executor's thread, for the first call that needs a shell's service.
  std::function<Result<std::unique_ptr<sandbox::ToolServices>>()> services;
};

/// `skill`: text of the contract's SKILL.md. `scratch`: the folder of the workspaces' folder.
/// `ender` ends the shells' service from another thread.
ToolExecutorSettings tool_executor_settings(const RunConfig& config, std::string skill,
                                            const std::filesystem::path& scratch,
                                            std::shared_ptr<sandbox::EndSwitch> ender);

class ToolExecutorState : public ActorState {
 public:
  void start(ToolExecutorSettings settings);
  caf::result<ToolAnswer> call(const ToolCall& call);
  void release(atom::release, TrajectoryId trajectory);

 private:
  /// A trajectory's folder and its tools. The box points into the workspace, so neither moves.
  struct OpenWorkspace {
    OpenWorkspace(sandbox::Workspace w, sandbox::ToolBoxConfig c)
        : workspace(std::move(w)), box(workspace, std::move(c)) {}
    sandbox::Workspace workspace;
    sandbox::ToolBox box;
  };

  void describe(ActorStatus& status) const override;
  Result<OpenWorkspace*> workspace_of(const ToolCall& call);
  Result<ToolAnswer> run(const ToolCall& call);
  Result<sandbox::ToolServices*> services();
  void end_jobs(sandbox::ToolBox& box);

  ToolExecutorSettings settings_;
  std::optional<sandbox::WorkspaceBase> base_;
  std::map<TrajectoryId, std::unique_ptr<OpenWorkspace>> open_workspaces_;
  std::unique_ptr<sandbox::ToolServices>
      services_;  // last, so that its jobs end before their folders are removed
};

ToolExecutorActor::behavior_type tool_executor(
    ToolExecutorActor::stateful_pointer<ToolExecutorState> self, Identity identity,
    ToolExecutorSettings settings);

}  // namespace warpsmith::actors
