// SPDX-License-Identifier: Apache-2.0
// The supervisor's tree: spawns the actors, sends rollouts their peers, replaces ended actors.
#include <array>

#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "actors/supervisor/supervisor.hpp"

namespace warpsmith::actors {
namespace {

/// Puts `handle` at `index`; the vector grows as needed.
template <class Handle>
void place(std::vector<Handle>& handles, uint32_t index, const Handle& handle) {
  if (index >= handles.size()) handles.resize(index + 1);
  handles[index] = handle;
}

}  // namespace

Identity SupervisorState::identity_of(Kind kind, uint32_t index) const {
  static constexpr std::array<const char*, 10> names{
      "telemetry", "weight_store", "ledger",        "sandbox", "synthesis",
      "learner",   "generator",    "tool_executor", "rollout", "composer"};
  return {std::string{names.at(static_cast<size_t>(kind))} + '-' + std::to_string(index), tap()};
}

template <class Handle>
Handle SupervisorState::watch(Kind kind, uint32_t index, Handle handle) {
  self_->monitor(handle);
  children_[handle.address()] =
      Child{kind, index, identity_of(kind, index).label, caf::actor_cast<caf::actor>(handle)};
  return handle;
}

void SupervisorState::spawn_tree() {
  caf::actor_system& system = self_->system();
  telemetry_ =
      watch(Kind::telemetry, 0, spawners_.telemetry(system, identity_of(Kind::telemetry, 0)));
  weight_store_ = watch(Kind::weight_store, 0,
                        spawners_.weight_store(system, identity_of(Kind::weight_store, 0)));
  peers_.ledger = watch(Kind::ledger, 0, spawners_.ledger(system, identity_of(Kind::ledger, 0)));
  for (uint32_t i = 0; i < settings_.counts.sandboxes; ++i) spawn_one(Kind::sandbox, i);
  spawn_one(Kind::synthesis, 0);
  if (spawners_.learner) {
    peers_.learner = watch(
        Kind::learner, 0,
        spawners_.learner(system, identity_of(Kind::learner, 0), peers_.ledger, weight_store_));
    self_->send(peers_.ledger, atom::redeliver_v, peers_.learner);
  }
  for (uint32_t i = 0; i < settings_.counts.generators; ++i) spawn_one(Kind::generator, i);
  for (uint32_t i = 0; i < settings_.counts.tool_executors; ++i) spawn_one(Kind::tool_executor, i);
  for (uint32_t i = 0; i < settings_.counts.rollouts; ++i) spawn_one(Kind::rollout, i);
  for (uint32_t i = 0; i < settings_.counts.composers; ++i) spawn_one(Kind::composer, i);
  send_peers();
}

void SupervisorState::spawn_one(Kind kind, uint32_t index) {
  caf::actor_system& system = self_->system();
  const Identity identity = identity_of(kind, index);
  switch (kind) {
    case Kind::sandbox:
      return place(peers_.sandboxes, index,
                   watch(kind, index, spawners_.sandbox(system, identity, index)));
    case Kind::synthesis:
      peers_.synthesis =
          watch(kind, index, spawners_.synthesis(system, identity, peers_.sandboxes));
      return;
    case Kind::generator:
      return place(peers_.generators, index,
                   watch(kind, index, spawners_.generator(system, identity, weight_store_)));
    case Kind::tool_executor:
      return place(peers_.tool_executors, index,
                   watch(kind, index, spawners_.tool_executor(system, identity)));
    case Kind::rollout:
      return place(rollouts_, index, watch(kind, index, spawners_.rollout(system, identity)));
    case Kind::composer:
      return place(peers_.composers, index,
                   watch(kind, index, spawners_.composer(system, identity, index)));
    case Kind::telemetry:
      telemetry_ = watch(kind, index, spawners_.telemetry(system, identity));
      return;
    case Kind::weight_store:
    case Kind::ledger:
    case Kind::learner:
      break;  // never restarted: see `lost`
  }
}

void SupervisorState::send_peers() {
  Peers peers = peers_;  // an actor that stores its own handle keeps itself alive
  peers.supervisor = caf::actor_cast<SupervisorActor>(self_->ctrl());
  self_->send(peers.synthesis, peers);
  for (const RolloutActor& rollout : rollouts_) self_->send(rollout, peers);
  for (const ComposerActor& composer : peers.composers) self_->send(composer, peers);
}

void SupervisorState::dismiss(Child& child) {
  if (std::exchange(child.leaving, true)) return;
  self_->send_exit(child.handle, caf::exit_reason::user_shutdown);
}

void SupervisorState::child_ended(const caf::down_msg& down) {
  const auto found = children_.find(down.source);
  if (found == children_.end()) return;
  const Child child = found->second;
  children_.erase(found);
  if (child.leaving || phase_ == RunPhase::done || phase_ == RunPhase::failed) return;
  const Error cause = from_caf(down.reason);
  if (!device_is_lost(down.reason)) return lost(child, cause);
  give_up({cause.code, child.label + " ended: " + cause.message +
                           "; this process has lost its GPU: resume the run in a new one"});
}

/// Restarts a child that has ended, or ends the run with it.
void SupervisorState::lost(const Child& child, const Error& cause) {
  log::warn(label() + ": " + child.label + " ended: " + cause.message);
  if (child.kind == Kind::ledger || child.kind == Kind::learner ||
      child.kind == Kind::weight_store) {
    return give_up({cause.code, child.label + " ended: " + cause.message +
                                    "; resume the run from its last checkpoint"});
  }
  restart(child, cause);
}

void SupervisorState::restart(const Child& child, const Error& cause) {
  auto& policy = policies_.try_emplace(child.label, settings_.restarts).first->second;
  const auto decision = policy.on_failure(failure_class_of(cause.code), SteadyClock::now());
  if (const auto* final = std::get_if<GiveUp>(&decision)) {
    return give_up(
        {cause.code, child.label + " ended: " + cause.message + " (" + final->reason + ")"});
  }
  ++restarts_;
  record("restart", child.label, cause.message);
  const auto delay = std::get<RestartAfter>(decision).delay;
  log::info(label() + ": " + child.label + " starts again in " + std::to_string(delay.count()) +
            " ms");
  self_->delayed_send(self_, delay, atom::respawn_v, static_cast<uint8_t>(child.kind), child.index);
}

void SupervisorState::respawn(atom::respawn /*unused*/, uint8_t kind, uint32_t index) {
  if (phase_ == RunPhase::done || phase_ == RunPhase::failed) return;
  if (kind > static_cast<uint8_t>(Kind::composer)) return;
  if (phase_ == RunPhase::stopping && static_cast<Kind>(kind) == Kind::rollout) return;
  spawn_one(static_cast<Kind>(kind), index);
  send_peers();
}

}  // namespace warpsmith::actors
