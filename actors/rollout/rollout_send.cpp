// SPDX-License-Identifier: Apache-2.0
// Sends each command of a rollout machine to its receiver, and passes the answer to the machine.
#include <algorithm>
#include <utility>

#include "actors/base/ask.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "actors/rollout/rollout.hpp"

namespace warpsmith::actors {

void RolloutState::send(TrajectoryId id, const RolloutCommands& commands) {
  for (const RolloutCommand& command : commands) {
    const auto found = runs_.find(id);
    if (found == runs_.end()) return;
    std::visit([&](const auto& c) { send(found->second, c); }, command);
  }
  const auto found = runs_.find(id);
  if (found != runs_.end() && found->second.machine.over()) {
    runs_.erase(found);
    fill_slots();
  }
}

/// Waits when the receiver has no room or is gone; any other error is a failure of the step.
void RolloutState::refused(TrajectoryId id, uint32_t request, const caf::error& error) {
  const auto found = runs_.find(id);
  if (found == runs_.end() || found->second.machine.request() != request) return;
  const Error failure = from_caf(error);
  if (failure.code == ErrorCode::capacity) {
    found->second.no_room = request;
    return;
  }
  if (receiver_is_gone(error)) {
    found->second.held = request;
    found->second.held_since = SteadyClock::now();
    return;
  }
  // A brain's endpoint or folder has no answer for this trajectory, and asking again gives none.
  if (failure.code == ErrorCode::unsupported) {
    return send(id, found->second.machine.unanswered(request, failure.message));
  }
  // The disk would be full for the next trajectory too. This one stays open and can resume.
  if (failure.code == ErrorCode::disk_full) return stop_run(failure);
  const auto kind =
      failure.code == ErrorCode::timeout ? InfraKind::deadline : InfraKind::sandbox_lost;
  send(id, found->second.machine.failed(request, {kind, failure.message}));
}

void RolloutState::send(Run& run, const GenerateCall& call) {
  run.last_chunk = SteadyClock::now();
  ask(self_, *this, "generating", run.generator, settings_.generate_timeout, call)
      .then([](bool) {}, [this, id = call.session, request = call.turn](
                             const caf::error& error) { refused(id, request, error); });
}

void RolloutState::send(Run& run, const ToolCall& call) {
  ask(self_, *this, "tool_answered", run.executor, settings_.tool_timeout, call)
      .then(
          [this](const ToolAnswer& answer) {
            const auto found = runs_.find(answer.trajectory);
            if (found == runs_.end()) return;
            send(answer.trajectory, found->second.machine.tool_answered(answer));
          },
          [this, id = call.trajectory, request = call.turn](const caf::error& error) {
            refused(id, request, error);
          });
}

/// A dead sandbox has no load, so the comparison puts dead ones last.
const SandboxActor& RolloutState::least_busy_sandbox() {
  return *std::ranges::min_element(peers_->sandboxes, {}, [this](const SandboxActor& s) {
    return std::pair{gone_.contains(s.address()), judging_[s.address()]};
  });
}

void RolloutState::send(Run& run, const JudgeCommand& command) {
  run.sandbox = least_busy_sandbox();
  const TrajectoryId id = run.machine.id();
  const caf::actor_addr at = run.sandbox.address();
  ++judging_[at];
  const auto answered = [this, at] {
    if (const auto found = judging_.find(at); found != judging_.end()) --found->second;
  };
  ask(self_, *this, "judged", run.sandbox, settings_.judge_timeout, command.call)
      .then(
          [this, id, answered, command](const EvaluateReply& reply) {
            answered();
            judged(id, command, reply.judgement);
          },
          [this, id, answered, at, request = command.request](const caf::error& error) {
            answered();
            if (receiver_is_gone(error)) gone_.insert(at);
            refused(id, request, error);
          });
}

void RolloutState::judged(TrajectoryId id, const JudgeCommand& command,
                          const Judgement& judgement) {
  const auto found = runs_.find(id);
  if (found == runs_.end() || found->second.machine.request() != command.request) return;
  if (const auto* verdict = std::get_if<Verdict>(&judgement)) {
    const bool final = command.call.request == Request::final;
    const uint32_t turn = found->second.machine.turn();
    if (settings_.judged) settings_.judged(id, turn, command.call, *verdict);
    self_->send(peers_->ledger, Judged{id, turn, final, *verdict});
  } else {
    const auto& failure = std::get<InfraFailure>(judgement);
    log::warn(label() + ": trajectory " + std::to_string(id) +
              " has no verdict: " + std::string(to_string(failure.kind)) + ": " + failure.detail);
  }
  send(id, found->second.machine.judged(command.request, judgement));
}

void RolloutState::stop_run(const Error& why) {
  self_->send(peers_->supervisor, FailureReport{label(), why.code, why.message});
}

/// An unrecorded change must not be trained, so the run stops; it can resume from the disk.
void RolloutState::ledger_failed(const caf::error& error) {
  const Error why = from_caf(error);
  stop_run({why.code, "the ledger refused: " + why.message});
  self_->quit(error);
}

void RolloutState::send(Run& /*run*/, const Segment& segment) {
  ask(self_, *this, "recorded", peers_->ledger, settings_.ledger_timeout, segment)
      .then([](uint32_t) {}, [this](const caf::error& error) { ledger_failed(error); });
}

void RolloutState::send(Run& run, const Closed& closed) {
  self_->send(peers_->synthesis, TaskOutcome{run.machine.task().task.id, closed.outcome});
  ask(self_, *this, "closed", peers_->ledger, settings_.ledger_timeout, closed)
      .then([](bool) {}, [this](const caf::error& error) { ledger_failed(error); });
}

void RolloutState::send(Run& /*run*/, const Dropped& dropped) {
  log::info(label() + ": trajectory " + std::to_string(dropped.trajectory) +
            " dropped: " + dropped.detail);
  ask(self_, *this, "dropped", peers_->ledger, settings_.ledger_timeout, dropped)
      .then([](bool) {}, [this](const caf::error& error) { ledger_failed(error); });
}

void RolloutState::send(Run& run, const ReleaseSession& release) {
  self_->send(run.generator, atom::release_v, release.trajectory);
}

void RolloutState::send(Run& run, const ReleaseWorkspace& release) {
  self_->send(run.executor, atom::release_v, release.trajectory);
}

}  // namespace warpsmith::actors
