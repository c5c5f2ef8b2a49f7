// SPDX-License-Identifier: Apache-2.0
#include "actors/tools/tool_executor.hpp"

#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "sandbox/workspace/task_text.hpp"

namespace warpsmith::actors {

void ToolExecutorState::start(ToolExecutorSettings settings) {
  settings_ = std::move(settings);
  auto base = sandbox::WorkspaceBase::open(settings_.workspaces);
  if (!base) throw ActorFailure(base.error());
  base_.emplace(std::move(*base));
}

Result<sandbox::ToolServices*> ToolExecutorState::services() {
  if (!services_) {
    auto made = settings_.services();
    if (!made) return tl::unexpected(std::move(made.error()));
    services_ = std::move(*made);
  }
  return services_.get();
}

Result<ToolExecutorState::Place*> ToolExecutorState::place_of(const ToolCall& call) {
  if (const auto found = places_.find(call.trajectory); found != places_.end()) {
    return found->second.get();
  }
  const PreparedTask& task = call.task;
  auto files = sandbox::workspace_files(task.task, task.facts.signature,
                                        {settings_.box.contract, settings_.skill});
  if (!files) return tl::unexpected(std::move(files.error()));
  auto made = base_->create("trajectory-" + std::to_string(call.trajectory), *files);
  if (!made) return tl::unexpected(std::move(made.error()));
  sandbox::ToolBoxConfig config = settings_.box;
  config.task_id = task.task.id;
  auto place = std::make_unique<Place>(std::move(*made), std::move(config));
  return places_.emplace(call.trajectory, std::move(place)).first->second.get();
}

Result<ToolAnswer> ToolExecutorState::run(const ToolCall& call) {
  auto place = place_of(call);
  if (!place) return tl::unexpected(std::move(place.error()));
  auto outside = services();
  if (!outside) return tl::unexpected(std::move(outside.error()));
  sandbox::ToolBox& box = (*place)->box;
  const ParsedCall parsed{call.name, call.arguments};
  auto step = call.repeat ? box.repeat(parsed, **outside) : box.begin(parsed, **outside);
  if (!step) return tl::unexpected(std::move(step.error()));
  ToolAnswer answer{call.trajectory, call.turn, std::move(step->text), step->judge.has_value()};
  if (step->judge) {
    answer.submission = std::move(step->judge->submission);
    answer.request = step->judge->request;
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
  const auto found = places_.find(trajectory);
  if (found == places_.end()) return;
  if (services_) end_jobs(found->second->box);
  places_.erase(found);
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
  status.gauges["workspaces"] = static_cast<double>(places_.size());
}

ToolExecutorActor::behavior_type tool_executor(
    ToolExecutorActor::stateful_pointer<ToolExecutorState> self, Identity identity,
    ToolExecutorSettings settings) {
  adopt(self, std::move(identity));
  self->state.start(std::move(settings));
  return {on(self, "status", &ToolExecutorState::status),
          on(self, "call", &ToolExecutorState::call),
          on(self, "release", &ToolExecutorState::release)};
}

}  // namespace warpsmith::actors
