// SPDX-License-Identifier: Apache-2.0
#include "actors/tools/tool_executor.hpp"

#include <fmt/format.h>

#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "actors/sandbox/sandbox_backend.hpp"
#include "sandbox/contract/contract.hpp"
#include "sandbox/workspace/task_text.hpp"
#include "sandbox/workspace/tool_schemas.hpp"

namespace warpsmith::actors {

ToolExecutorSettings tool_executor_settings(const RunConfig& config, std::string skill,
                                            const std::filesystem::path& scratch,
                                            std::shared_ptr<sandbox::EndSwitch> ender) {
  ToolExecutorSettings settings;
  settings.workspaces = scratch / "workspaces";
  settings.skill = std::move(skill);
  settings.box.contract = config.sandbox.contract;
  settings.box.required_file = sandbox::contract_named(config.sandbox.contract).required_file;
  settings.box.tools = sandbox::tools_named(config.agent.tools).value();
  settings.box.solution.bytes = static_cast<size_t>(config.sandbox.settings.source_bytes);
  settings.box.shell = config.tool_executor;
  settings.services =
      shell_services(options_outside_slots(config.sandbox, /*python=*/{}), std::move(ender));
  return settings;
}

void ToolExecutorState::start(ToolExecutorSettings settings) {
  settings_ = std::move(settings);
  auto base = sandbox::WorkspaceBase::open(settings_.workspaces);
  if (!base) throw ActorFailure(base.error());
  base_.emplace(std::move(*base));
}

Result<sandbox::ToolServices*> ToolExecutorState::services() {
  if (!services_) {
    TRY(auto made, settings_.services());
    services_ = std::move(made);
  }
  return services_.get();
}

Result<ToolExecutorState::OpenWorkspace*> ToolExecutorState::workspace_of(const ToolCall& call) {
  if (const auto found = open_workspaces_.find(call.trajectory); found != open_workspaces_.end()) {
    return found->second.get();
  }
  const PreparedTask& task = call.task;
  TRY(auto files, sandbox::workspace_files(task.task, task.facts.signature,
                                           {settings_.box.contract, settings_.skill}));
  TRY(auto made, base_->create(fmt::format("trajectory-{}", call.trajectory), files));
  sandbox::ToolBoxConfig config = settings_.box;
  config.task_id = task.task.id;
  auto opened = std::make_unique<OpenWorkspace>(std::move(made), std::move(config));
  return open_workspaces_.emplace(call.trajectory, std::move(opened)).first->second.get();
}

Result<ToolAnswer> ToolExecutorState::run(const ToolCall& call) {
  TRY(auto opened, workspace_of(call));
  TRY(auto outside, services());
  sandbox::ToolBox& box = opened->box;
  const ParsedCall parsed{call.name, call.arguments};
  TRY(auto step, call.repeat ? box.repeat(parsed, *outside) : box.begin(parsed, *outside));
  ToolAnswer answer{call.trajectory, call.turn, std::move(step.text), step.judge.has_value()};
  if (step.judge) {
    answer.submission = std::move(step.judge->submission);
    answer.request = step.judge->request;
  }
  return answer;
}

caf::result<ToolAnswer> ToolExecutorState::call(const ToolCall& call) {
  auto answer = run(call);
  if (answer) return std::move(*answer);
  Error why = std::move(answer.error());
  if (why.code == ErrorCode::disk_full)
    why.message = settings_.workspaces.string() + ": " + why.message;
  log::warn(label() + ": " + call.name + ": " + why.message);
  if (why.code == ErrorCode::peer_lost) services_.reset();
  return to_caf(why);
}

void ToolExecutorState::release(atom::release /*unused*/, TrajectoryId trajectory) {
  const auto found = open_workspaces_.find(trajectory);
  if (found == open_workspaces_.end()) return;
  if (services_) end_jobs(found->second->box);
  open_workspaces_.erase(found);
}

/// Jobs that cannot be ended one by one end with their service.
void ToolExecutorState::end_jobs(sandbox::ToolBox& box) {
  const auto ended = box.end_jobs(*services_);
  if (ended) return;
  log::warn(label() + ": background jobs: " + ended.error().message);
  services_.reset();
}

void ToolExecutorState::describe(ActorStatus& status) const {
  status.phase = "serving";
  status.gauges["workspaces"] = static_cast<double>(open_workspaces_.size());
}

ToolExecutorActor::behavior_type tool_executor(
    ToolExecutorActor::stateful_pointer<ToolExecutorState> self, Identity identity,
    ToolExecutorSettings settings) {
  set_up_actor(self, std::move(identity));
  self->state.start(std::move(settings));
  return {on(self, "status", &ToolExecutorState::status),
          on(self, "call", &ToolExecutorState::call),
          on(self, "release", &ToolExecutorState::release)};
}

}  // namespace warpsmith::actors
