// SPDX-License-Identifier: Apache-2.0
// Slots, deadlines and lost peers; rollout_send.cpp sends the machines' commands to their
// receivers.
#include "actors/rollout/rollout.hpp"

#include <algorithm>

#include "actors/base/ask.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"

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
  const SynthesisActor former = peers_ ? peers_->synthesis : peers.synthesis;
  peers_ = peers;
  gone_.clear();
  if (former != peers.synthesis) repeat_task_requests(former);
  replace_lost_peers();
  fill_slots();
}

/// A copy, because sending a command may end a run.
std::vector<TrajectoryId> RolloutState::ids() const {
  std::vector<TrajectoryId> all;
  all.reserve(runs_.size());
  for (const auto& [id, run] : runs_) all.push_back(id);
  return all;
}

void RolloutState::tick(atom::tick /*unused*/) {
  for (const TrajectoryId id : ids()) {
    if (const auto found = runs_.find(id); found != runs_.end()) check(id, found->second);
  }
  fill_slots();
  self_->delayed_send(self_, settings_.tick, atom::tick_v);
}

void RolloutState::check(TrajectoryId id, Run& run) {
  const uint32_t request = run.machine.request();
  const auto now = SteadyClock::now();
  if (std::exchange(run.no_room, 0) == request && request != 0) {
    leave_full_generator(run);
    return send(id, run.machine.repeat());
  }
  if (run.held == request && request != 0) {
    if (now - run.held_since < settings_.successor_timeout) return;
    return send(id, run.machine.failed(request, {InfraKind::sandbox_lost,
                                                 "the receiver ended and was not replaced"}));
  }
  const bool late = now - run.last_chunk > settings_.generate_timeout;
  if (run.machine.phase() != RolloutPhase::generating || !late) return;
  const InfraFailure failure{InfraKind::deadline, "no tokens within generate_timeout"};
  run.last_chunk = now;
  send(id, run.machine.failed(request, failure));
}

/// The next generator may have room. It gets the whole prefix.
void RolloutState::leave_full_generator(Run& run) {
  const std::vector<GeneratorActor>& all = peers_->generators;
  if (run.machine.phase() != RolloutPhase::generating || all.size() < 2) return;
  self_->send(run.generator, atom::release_v, run.machine.id());
  const auto at = static_cast<size_t>(std::ranges::find(all, run.generator) - all.begin());
  run.generator = all[(at + 1) % all.size()];
  run.machine.session_lost();
}

void RolloutState::replace_lost_peers() {
  std::erase_if(judging_, [this](const auto& entry) {
    return std::ranges::none_of(peers_->sandboxes,
                                [&](const SandboxActor& s) { return s.address() == entry.first; });
  });
  for (const TrajectoryId id : ids()) {
    if (const auto found = runs_.find(id); found != runs_.end()) {
      replace_lost_peers(id, found->second);
    }
  }
}

/// Repeats the request that a dead peer had, or that was held for its successor. Counts as one
/// failure of the step.
void RolloutState::replace_lost_peers(TrajectoryId id, Run& run) {
  const RolloutPhase phase = run.machine.phase();
  const char* lost = nullptr;
  if (!holds(peers_->tool_executors, run.executor)) {
    run.executor = in_turn(peers_->tool_executors, next_executor_);
    run.machine.workspace_lost();
    if (run.machine.is_using_workspace()) lost = "the tool executor ended";
  }
  if (!holds(peers_->generators, run.generator)) {
    run.generator = in_turn(peers_->generators, next_generator_);
    run.machine.session_lost();
    if (phase == RolloutPhase::generating) lost = "the generator ended";
  }
  const bool judging = phase == RolloutPhase::judging_tool || phase == RolloutPhase::judging_final;
  if (judging && !holds(peers_->sandboxes, run.sandbox)) lost = "the sandbox ended";
  if (lost == nullptr) return;
  send(id, run.machine.failed(run.machine.request(), {InfraKind::sandbox_lost, lost}));
}

/// The former synthesis will not answer.
void RolloutState::repeat_task_requests(const SynthesisActor& former) {
  log::info(label() + ": synthesis " + std::to_string(former.id()) +
            " has a successor: repeating " + std::to_string(task_requests_.size()) + " requests");
  for (auto& [ticket, resumed] : std::exchange(task_requests_, {})) {
    --asking_;
    request_task(std::move(resumed));
  }
}

void RolloutState::fill_slots() {
  if (!peers_ || drained_) return;
  while (runs_.size() + asking_ < settings_.concurrent) request_task();
}

void RolloutState::slot_failed(const char* what, const caf::error& error) {
  --asking_;
  log::warn(label() + ": " + what + ": " + from_caf(error).message);
}

/// The ticket outlives the synthesis: see repeat_task_requests.
void RolloutState::request_task(std::optional<Admission> resumed) {
  ++asking_;
  if (!resumed && !kept_.empty()) {
    const PreparedTask kept = std::move(kept_.front());
    kept_.pop_front();
    return request_admission(kept);
  }
  const uint64_t ticket = ++tickets_;
  const auto& kept = task_requests_.emplace(ticket, std::move(resumed)).first->second;
  const auto arrived = [this, ticket](const PreparedTask& task) { task_arrived(ticket, task); };
  const auto failed = [this, ticket](const caf::error& error) { no_task(ticket, error); };
  const SynthesisActor& synthesis = peers_->synthesis;
  if (kept) {
    ask(self_, *this, "named_task", synthesis, settings_.admission_timeout, atom::next_task_v,
        kept->task.id)
        .then(arrived, failed);
  } else {
    ask(self_, *this, "task", synthesis, settings_.admission_timeout, atom::next_task_v)
        .then(arrived, failed);
  }
}

void RolloutState::task_arrived(uint64_t ticket, const PreparedTask& task) {
  const auto node = task_requests_.extract(ticket);
  if (node.empty()) return;
  if (node.mapped()) return begin(task, *node.mapped());
  request_admission(task);
}

void RolloutState::no_task(uint64_t ticket, const caf::error& error) {
  if (receiver_is_gone(error)) return;  // repeated once the successor is known
  const auto node = task_requests_.extract(ticket);
  if (node.empty()) return;
  slot_failed("no task", error);
  if (!node.mapped()) {
    drained_ = drained_ || from_caf(error).code == ErrorCode::not_found;
    return;
  }
  // The ticket was for a trajectory that should resume.
  const Dropped dropped{node.mapped()->trajectory, DropReason::infrastructure,
                        from_caf(error).message};
  ask(self_, *this, "dropped", peers_->ledger, settings_.ledger_timeout, dropped)
      .then([](bool) {}, [this](const caf::error& e) { ledger_failed(e); });
}

void RolloutState::request_admission(const PreparedTask& task) {
  ask(self_, *this, "admitted", peers_->ledger, settings_.admission_timeout, atom::admit_v,
      task.task)
      .then([this, task](Admission& admission) { admitted(task, admission); },
            [this](const caf::error& error) { slot_failed("no admission", error); });
}

void RolloutState::admitted(const PreparedTask& asked, Admission& admission) {
  if (!admission.granted) {
    --asking_;
    drained_ = kept_.empty();  // the run admits nothing more
    return;
  }
  // A trajectory resumes instead: it needs its own task, and what was asked for is still to do.
  if (admission.resumed && !asked.task.id.empty()) {
    kept_.push_back(asked);
    drained_ = false;  // another slot may have been refused meanwhile
  }
  if (admission.task.id == asked.task.id) return begin(asked, admission);
  --asking_;
  request_task(std::move(admission));
}

/// An earlier rollout may have left a session and a workspace at any peer.
void RolloutState::forget_elsewhere(TrajectoryId id) {
  for (const auto& generator : peers_->generators) self_->send(generator, atom::release_v, id);
  for (const auto& executor : peers_->tool_executors) self_->send(executor, atom::release_v, id);
}

void RolloutState::begin(PreparedTask task, const Admission& admission) {
  --asking_;
  if (admission.resumed) forget_elsewhere(admission.trajectory);
  policy::MarkedText prompt = settings_.prompt(task);
  const auto [place, is_new] = runs_.try_emplace(
      admission.trajectory, Run{RolloutMachine{settings_.setup, std::move(task), std::move(prompt)},
                                in_turn(peers_->generators, next_generator_),
                                in_turn(peers_->tool_executors, next_executor_),
                                {},
                                SteadyClock::now()});
  if (is_new) send(admission.trajectory, place->second.machine.admitted(admission));
}

void RolloutState::tokens(const TokenChunk& chunk) {
  const auto found = runs_.find(chunk.session);
  if (found == runs_.end()) return;
  found->second.last_chunk = SteadyClock::now();
  send(chunk.session, found->second.machine.tokens(chunk));
}

void RolloutState::describe(ActorStatus& status) const {
  status.phase = drained_ ? "draining" : "sampling";
  status.queued = asking_;
  std::map<std::string, double>& gauges = status.gauges;
  gauges["running"] = static_cast<double>(runs_.size());
  for (const auto& [id, run] : runs_) gauges[std::string{to_string(run.machine.phase())}] += 1;
}

RolloutSelf::behavior_type rollout(RolloutState::Self self, Identity identity,
                                   RolloutSettings settings) {
  adopt(self, std::move(identity));
  self->state.start(self, std::move(settings));
  return {on(self, "status", &RolloutState::status), on(self, "peers", &RolloutState::peers),
          on(self, "tokens", &RolloutState::tokens), on(self, "tick", &RolloutState::tick)};
}

}  // namespace warpsmith::actors
