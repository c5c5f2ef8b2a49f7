// SPDX-License-Identifier: Apache-2.0
// Slots, deadlines and lost peers; rollout_carry.cpp brings the machines' commands to their
// receivers.
#include "actors/rollout.hpp"

#include <algorithm>

#include "actors/errors.hpp"
#include "actors/inspect.hpp"

namespace warpsmith::actors {
namespace {

template <class Handle>
bool holds(const std::vector<Handle>& handles, const Handle& wanted) {
  return std::ranges::find(handles, wanted) != handles.end();
}

template <class Handle>
const Handle& in_turn(const std::vector<Handle>& handles, size_t& next) {
  return handles[next++ % handles.size()];
}

}  // namespace

void RolloutState::start(Self self, RolloutSettings settings) {
  self_ = self;
  settings_ = std::move(settings);
  self->send(self, atom::tick_v);
}

void RolloutState::peers(const Peers& peers) {
  peers_ = peers;
  replace_lost_peers();
  fill_slots();
}

void RolloutState::tick(atom::tick /*unused*/) {
  std::vector<TrajectoryId> ids;
  for (const auto& [id, run] : runs_) ids.push_back(id);
  for (const TrajectoryId id : ids) {
    if (const auto found = runs_.find(id); found != runs_.end()) check(id, found->second);
  }
  fill_slots();
  self_->delayed_send(self_, settings_.tick, atom::tick_v);
}

void RolloutState::check(TrajectoryId id, Run& run) {
  if (std::exchange(run.repeat, false)) return carry(id, run.machine.repeat());
  const bool late = SteadyClock::now() - run.last_chunk > settings_.generate_timeout;
  if (run.machine.phase() != RolloutPhase::generating || !late) return;
  const InfraFailure failure{InfraKind::deadline, "no tokens within generate_timeout"};
  run.last_chunk = SteadyClock::now();
  carry(id, run.machine.failed(run.machine.request(), failure));
}

void RolloutState::replace_lost_peers() {
  std::vector<TrajectoryId> ids;
  for (const auto& [id, run] : runs_) ids.push_back(id);
  for (const TrajectoryId id : ids) {
    const auto found = runs_.find(id);
    if (found == runs_.end()) continue;
    Run& run = found->second;
    if (!holds(peers_->tool_executors, run.executor)) {
      run.executor = in_turn(peers_->tool_executors, next_executor_);
      run.machine.workspace_lost();
    }
    if (runs_.contains(id) && !holds(peers_->generators, run.generator)) {
      run.generator = in_turn(peers_->generators, next_generator_);
      if (run.machine.phase() != RolloutPhase::generating) continue;
      const InfraFailure failure{InfraKind::sandbox_lost, "the generator ended"};
      carry(id, run.machine.failed(run.machine.request(), failure));
    }
  }
}

void RolloutState::drain(atom::drain /*unused*/) {
  drained_ = true;
}

void RolloutState::fill_slots() {
  if (!peers_ || drained_) return;
  while (runs_.size() + asking_ < settings_.concurrent) ask_for_task();
}

void RolloutState::slot_failed(const char* what, const caf::error& error) {
  --asking_;
  log::warn(label() + ": " + what + ": " + from_caf(error).message);
}

void RolloutState::ask_for_task() {
  ++asking_;
  self_->request(peers_->synthesis, settings_.admission_timeout, atom::next_task_v)
      .then([this](const PreparedTask& task) { ask_for_admission(task); },
            [this](const caf::error& error) {
              slot_failed("no task", error);
              drained_ = drained_ || from_caf(error).code == ErrorCode::not_found;
            });
}

void RolloutState::ask_for_admission(const PreparedTask& task) {
  self_->request(peers_->ledger, settings_.admission_timeout, atom::admit_v, task.task)
      .then([this, task](Admission& admission) { admitted(task, admission); },
            [this](const caf::error& error) { slot_failed("no admission", error); });
}

void RolloutState::admitted(const PreparedTask& asked, Admission& admission) {
  if (!admission.granted) {
    --asking_;
    drained_ = true;  // the run admits nothing more
    return;
  }
  if (admission.task.id == asked.task.id) return begin(asked, admission);
  // Another trajectory goes on instead: its own task is needed.
  self_
      ->request(peers_->synthesis, settings_.admission_timeout, atom::next_task_v,
                admission.task.id)
      .then([this, admission](const PreparedTask& task) { begin(task, admission); },
            [this, admission](const caf::error& error) {
              slot_failed("task of a resumed trajectory", error);
              const Dropped dropped{admission.trajectory, DropReason::infrastructure,
                                    from_caf(error).message};
              self_->request(peers_->ledger, settings_.ledger_timeout, dropped)
                  .then([](bool) {}, [this](const caf::error& e) { ledger_failed(e); });
            });
}

void RolloutState::begin(PreparedTask task, const Admission& admission) {
  --asking_;
  const std::string prompt = settings_.prompt(task);
  const auto [place, fresh] = runs_.try_emplace(
      admission.trajectory,
      Run{RolloutMachine{settings_.setup, std::move(task), prompt},
          in_turn(peers_->generators, next_generator_),
          in_turn(peers_->tool_executors, next_executor_), SteadyClock::now(), false});
  if (fresh) carry(admission.trajectory, place->second.machine.admitted(admission));
}

void RolloutState::tokens(const TokenChunk& chunk) {
  const auto found = runs_.find(chunk.session);
  if (found == runs_.end()) return;
  found->second.last_chunk = SteadyClock::now();
  carry(chunk.session, found->second.machine.tokens(chunk));
}

void RolloutState::describe(ActorStatus& status) const {
  status.phase = drained_ ? "draining" : "sampling";
  status.queued = asking_;
  std::map<std::string, double>& gauges = status.gauges;
  gauges["running"] = static_cast<double>(runs_.size());
  for (const auto& [id, run] : runs_) gauges[std::string{to_string(run.machine.phase())}] += 1;
}

RolloutActor::behavior_type rollout(RolloutActor::stateful_pointer<RolloutState> self,
                                    Identity identity, RolloutSettings settings) {
  adopt(self, std::move(identity));
  self->state.start(self, std::move(settings));
  return {on(self, "status", &RolloutState::status), on(self, "peers", &RolloutState::peers),
          on(self, "tokens", &RolloutState::tokens), on(self, "tick", &RolloutState::tick),
          on(self, "drain", &RolloutState::drain)};
}

}  // namespace warpsmith::actors
