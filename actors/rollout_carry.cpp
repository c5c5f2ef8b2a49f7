// SPDX-License-Identifier: Apache-2.0
// Brings each command of a rollout machine to its receiver, and the answer back to the machine.
#include <algorithm>

#include "actors/errors.hpp"
#include "actors/inspect.hpp"
#include "actors/rollout.hpp"

namespace warpsmith::actors {

void RolloutState::carry(TrajectoryId id, const RolloutCommands& commands) {
  for (const RolloutCommand& command : commands) {
    const auto found = runs_.find(id);
    if (found == runs_.end()) return;
    std::visit([&](const auto& c) { carry(found->second, c); }, command);
  }
  const auto found = runs_.find(id);
  if (found != runs_.end() && found->second.machine.over()) {
    runs_.erase(found);
    fill_slots();
  }
}

/// No room is a wait; anything else is a failure of whoever was asked.
void RolloutState::refused(TrajectoryId id, uint32_t request, const caf::error& error) {
  const auto found = runs_.find(id);
  if (found == runs_.end()) return;
  const Error failure = from_caf(error);
  if (failure.code == ErrorCode::capacity) {
    found->second.repeat = true;
    return;
  }
  const auto kind =
      failure.code == ErrorCode::timeout ? InfraKind::deadline : InfraKind::sandbox_lost;
  carry(id, found->second.machine.failed(request, {kind, failure.message}));
}

void RolloutState::carry(Run& run, const GenerateCall& call) {
  run.last_chunk = SteadyClock::now();
  self_->request(run.generator, settings_.generate_timeout, call)
      .then([](bool) {}, [this, id = call.session, request = call.turn](
                             const caf::error& error) { refused(id, request, error); });
}

void RolloutState::carry(Run& run, const ToolCall& call) {
  self_->request(run.executor, settings_.tool_timeout, call)
      .then(
          [this](const ToolAnswer& answer) {
            const auto found = runs_.find(answer.trajectory);
            if (found == runs_.end()) return;
            carry(answer.trajectory, found->second.machine.tool_answered(answer));
          },
          [this, id = call.trajectory, request = call.turn](const caf::error& error) {
            refused(id, request, error);
          });
}

const SandboxActor& RolloutState::idlest_sandbox() {
  return *std::ranges::min_element(peers_->sandboxes, {},
                                   [this](const SandboxActor& s) { return judging_[s.address()]; });
}

void RolloutState::carry(Run& run, const JudgeCommand& command) {
  const SandboxActor& sandbox = idlest_sandbox();
  const TrajectoryId id = run.machine.id();
  ++judging_[sandbox.address()];
  self_->request(sandbox, settings_.judge_timeout, command.call)
      .then(
          [this, id, at = sandbox.address(), request = command.request,
           final = command.call.request == Request::final](const EvaluateReply& reply) {
            --judging_[at];
            const auto found = runs_.find(id);
            if (found == runs_.end()) return;
            if (const auto* verdict = std::get_if<Verdict>(&reply.judgement)) {
              self_->send(peers_->ledger, Judged{id, request, final, *verdict});
            }
            carry(id, found->second.machine.judged(request, reply.judgement));
          },
          [this, id, at = sandbox.address(), request = command.request](const caf::error& error) {
            --judging_[at];
            refused(id, request, error);
          });
}

void RolloutState::ledger_failed(const caf::error& error) {
  // What is not recorded must not be trained: the run stops, and goes on from the disk.
  throw std::runtime_error("the ledger refused: " + from_caf(error).message);
}

void RolloutState::carry(Run& /*run*/, const Segment& segment) {
  self_->send(peers_->learner, segment);
  self_->request(peers_->ledger, settings_.ledger_timeout, segment)
      .then([](uint32_t) {}, [this](const caf::error& error) { ledger_failed(error); });
}

void RolloutState::carry(Run& run, const Closed& closed) {
  const Outcome& o = closed.outcome;
  self_->send(peers_->synthesis, TaskOutcome{run.machine.task().task.id, o.reward,
                                             o.verdict == to_string(VerdictClass::passed),
                                             o.speedup_eager.value_or(0)});
  // The learner hears of it once it is durable: a step may only use what is recorded.
  self_->request(peers_->ledger, settings_.ledger_timeout, closed)
      .then([this, closed](bool) { self_->send(peers_->learner, closed); },
            [this](const caf::error& error) { ledger_failed(error); });
}

void RolloutState::carry(Run& /*run*/, const Dropped& dropped) {
  log::info(label() + ": trajectory " + std::to_string(dropped.trajectory) +
            " dropped: " + dropped.detail);
  self_->send(peers_->learner, dropped);
  self_->request(peers_->ledger, settings_.ledger_timeout, dropped)
      .then([](bool) {}, [this](const caf::error& error) { ledger_failed(error); });
}

void RolloutState::carry(Run& run, const ReleaseSession& release) {
  self_->send(run.generator, atom::release_v, release.trajectory);
}

void RolloutState::carry(Run& run, const ReleaseWorkspace& release) {
  self_->send(run.executor, atom::release_v, release.trajectory);
}

}  // namespace warpsmith::actors
