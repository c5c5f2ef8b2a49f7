// SPDX-License-Identifier: Apache-2.0
#include "actors/supervisor/supervisor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"

namespace warpsmith::actors {
namespace {

constexpr uint32_t most_idle_flushes = 5;  // a closed trajectory may still be in flight
constexpr int64_t slow_disk = 100'000;     // bytes in a millisecond

/// Puts `handle` at `index`; the vector grows as needed.
template <class Handle>
void place(std::vector<Handle>& handles, uint32_t index, const Handle& handle) {
  if (index >= handles.size()) handles.resize(index + 1);
  handles[index] = handle;
}

}  // namespace

SupervisorSettings supervisor_settings(const RunConfig& config, int64_t checkpoint_bytes) {
  const SupervisorConfig& c = config.supervisor;
  SupervisorSettings settings;
  // Only one brain, because it counts the budget of the whole run.
  const int64_t generators = has_brain(config.brain) ? 1 : config.generator.count;
  settings.counts = {static_cast<uint32_t>(config.sandbox.count), static_cast<uint32_t>(generators),
                     static_cast<uint32_t>(config.tool_executor.count),
                     static_cast<uint32_t>(config.rollout.count),
                     static_cast<uint32_t>(config.synthesis.composers())};
  settings.heartbeat = c.heartbeat;
  settings.status_bound = c.status_bound;
  settings.stuck_timeout = c.stuck_timeout;
  settings.stop_timeout = c.stop_timeout;
  settings.checkpoint_timeout =
      c.stop_timeout + std::chrono::milliseconds{checkpoint_bytes / slow_disk};
  for (RestartLimits& limits : settings.restarts) {
    limits.max_restarts = std::min(limits.max_restarts, static_cast<uint32_t>(c.max_restarts));
    limits.window = c.restart_window;
    limits.first_delay = c.first_backoff;
    limits.max_delay = c.last_backoff;
  }
  return settings;
}

void SupervisorState::start(Self self, Spawners spawners, SupervisorSettings settings) {
  self_ = self;
  spawners_ = std::move(spawners);
  settings_ = settings;
  spawn_tree();
  self->send(self, atom::tick_v);
}

Identity SupervisorState::identity_of(Kind kind, uint32_t index) const {
  static constexpr std::array<const char*, 10> names{
      "telemetry", "weight_store", "ledger",        "sandbox", "synthesis",
      "learner",   "generator",    "tool_executor", "rollout", "composer"};
  return {fmt::format("{}-{}", names.at(static_cast<size_t>(kind)), index), tap()};
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
      break;  // never restarted: see `child_lost`
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
  if (!device_is_lost(down.reason)) return child_lost(child, cause);
  give_up({cause.code, child.label + " ended: " + cause.message +
                           "; this process has lost its GPU: resume the run in a new one"});
}

/// Restarts a child that has ended, or ends the run with it.
void SupervisorState::child_lost(const Child& child, const Error& cause) {
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
  log::info(fmt::format("{}: {} starts again in {} ms", label(), child.label, delay.count()));
  self_->delayed_send(self_, delay, atom::respawn_v, static_cast<uint8_t>(child.kind), child.index);
}

void SupervisorState::respawn(atom::respawn /*unused*/, uint8_t kind, uint32_t index) {
  if (phase_ == RunPhase::done || phase_ == RunPhase::failed) return;
  if (kind > static_cast<uint8_t>(Kind::composer)) return;
  if (phase_ == RunPhase::stopping && static_cast<Kind>(kind) == Kind::rollout) return;
  spawn_one(static_cast<Kind>(kind), index);
  send_peers();
}

void SupervisorState::tick(atom::tick /*unused*/) {
  if (phase_ == RunPhase::done || phase_ == RunPhase::failed) return;
  for (auto& [address, child] : children_) ask_status(child);
  ask_counts();
  self_->delayed_send(self_, settings_.heartbeat, atom::tick_v);
}

void SupervisorState::ask_counts() {
  if (std::exchange(counting_, true)) return;
  ask(self_, *this, "counted", peers_.ledger, settings_.status_bound, atom::counts_v)
      .then(
          [this](const LedgerCounts& counts) {
            counting_ = false;
            counts_arrived(counts);
          },
          [this](const caf::error& error) {
            counting_ = false;
            log::warn(label() + ": the ledger does not answer: " + from_caf(error).message);
          });
}

/// Sends at most one request, so that a stuck child's mailbox does not fill.
void SupervisorState::ask_status(Child& child) {
  if (std::exchange(child.asked, true)) return;
  const auto address = child.handle.address();
  ask(self_, *this, "answered", child.handle, settings_.status_bound, atom::status_v)
      .then([this, address](ActorStatus& status) { answered(address, status); },
            [this, address](const caf::error& error) {
              const auto found = children_.find(address);
              if (found == children_.end()) return;
              found->second.asked = false;
              if (!found->second.leaving) unanswered(found->second, from_caf(error));
            });
}

/// Counts requests instead of reading a clock, so that a stopped process does not look stuck.
void SupervisorState::unanswered(Child& child, const Error& error) {
  log::warn(label() + ": " + child.label + " does not answer: " + error.message);
  if (error.code != ErrorCode::timeout) return;
  if (settings_.status_bound * ++child.unanswered >= settings_.stuck_timeout)
    end_stuck(Child{child});
}

/// Treats a stuck actor as dead and sends it an exit message in case it recovers.
void SupervisorState::end_stuck(const Child& child) {
  self_->send_exit(child.handle, caf::exit_reason::user_shutdown);
  children_.erase(child.handle.address());
  const auto silent = settings_.status_bound * child.unanswered;
  const Error cause{
      ErrorCode::timeout,
      fmt::format("stuck: no answer for {} ms (supervisor.stuck_timeout)", silent.count())};
  if (child.kind != Kind::rollout) return child_lost(child, cause);
  // The ledger hands its trajectories to another rollout only after its end.
  give_up({cause.code, child.label + ": " + cause.message + "; resume the run"});
}

void SupervisorState::answered(const caf::actor_addr& child, ActorStatus& status) {
  if (const auto found = children_.find(child); found != children_.end()) {
    found->second.asked = false;
    found->second.unanswered = 0;
  }
  Observation seen{status.name, std::move(status.gauges), {}};
  seen.texts["phase"] = std::move(status.phase);
  seen.values["handled"] = static_cast<double>(status.handled);
  seen.values["busy_s"] = status.busy_s;
  seen.values["alive_s"] = status.alive_s;
  seen.values["queued"] = static_cast<double>(status.queued);
  self_->send(peers_.ledger, seen);
  self_->send(telemetry_, std::move(seen));
}

/// The run ends when nothing more is admitted and nothing is in flight.
void SupervisorState::counts_arrived(const LedgerCounts& counts) {
  counts_ = counts;
  if (phase_ != RunPhase::running && phase_ != RunPhase::flushing) return;
  if (!counts.exhausted || counts.open > 0) return;
  if (!spawners_.learner || counts.in_flight == 0) return finish(RunPhase::done);
  phase_ = RunPhase::flushing;
  if (counts.closed > 0) {
    flush_learner();
  } else {
    take_checkpoint(RunPhase::done);
  }
}

/// Fails the run if the learner repeatedly has nothing while the ledger counts closed trajectories.
void SupervisorState::flush_learner() {
  if (std::exchange(flush_asked_, true)) return;
  ask(self_, *this, "flushed", peers_.learner, settings_.stop_timeout, atom::flush_v)
      .then(
          [this](bool at_work) {
            flush_asked_ = false;
            idle_flushes_ = at_work ? 0 : idle_flushes_ + 1;
            if (idle_flushes_ < most_idle_flushes || phase_ != RunPhase::flushing) return;
            give_up({ErrorCode::infrastructure,
                     fmt::format("the learner holds nothing to train, but {} closed trajectories "
                                 "wait for a step; resume the run to train them",
                                 counts_.closed)});
          },
          [this](const caf::error& error) {
            flush_asked_ = false;
            log::warn(label() + ": the learner does not answer: " + from_caf(error).message);
          });
}

void SupervisorState::take_checkpoint(RunPhase next) {
  if (std::exchange(checkpointing_, true)) return;
  ask(self_, *this, "checkpointed", peers_.learner, settings_.checkpoint_timeout,
      atom::checkpoint_v)
      .then(
          [this, next](const std::string& folder) {
            log::info(label() + (folder.empty() ? ": no step was made, so there is no checkpoint"
                                                : ": checkpoint " + folder));
            finish(next);
          },
          [this](const caf::error& error) {
            const Error why = from_caf(error);
            give_up({why.code, "the last checkpoint failed: " + why.message});
          });
}

void SupervisorState::stop(atom::stop /*unused*/) {
  if (phase_ != RunPhase::running && phase_ != RunPhase::flushing) return;
  phase_ = RunPhase::stopping;
  record("stop", label(), "a stop was requested");
  self_->send(peers_.ledger, atom::drain_v);
  for (auto& [address, child] : children_) {
    if (child.kind == Kind::rollout) dismiss(child);  // their trajectories stay open on disk
  }
  if (!spawners_.learner) return finish(RunPhase::done);
  take_checkpoint(RunPhase::done);
}

caf::result<Observation> SupervisorState::numbers(atom::snapshot /*unused*/) {
  return self_->delegate(telemetry_, atom::snapshot_v);
}

void SupervisorState::failure(const FailureReport& report) {
  give_up({report.code, report.actor + ": " + report.message});
}

void SupervisorState::give_up(const Error& reason) {
  if (phase_ == RunPhase::done || phase_ == RunPhase::failed) return;
  failure_ = reason;
  log::error(label() + ": the run stops: " + reason.message);
  record("give_up", label(), reason.message);
  finish(RunPhase::failed);
}

void SupervisorState::record(const std::string& kind, const std::string& actor,
                             const std::string& text) {
  self_->send(peers_.ledger, Event{kind, actor, text});
}

/// Ends every child but the telemetry, in the order of the dependencies.
void SupervisorState::finish(RunPhase phase) {
  phase_ = phase;
  for (const Kind kind :
       {Kind::rollout, Kind::composer, Kind::generator, Kind::tool_executor, Kind::synthesis,
        Kind::sandbox, Kind::learner, Kind::weight_store, Kind::ledger}) {
    for (auto& [address, child] : children_) {
      if (child.kind == kind) dismiss(child);
    }
  }
}

void SupervisorState::end_all() {
  if (phase_ != RunPhase::failed) finish(RunPhase::done);
  self_->send_exit(telemetry_, caf::exit_reason::user_shutdown);
}

void SupervisorState::describe(ActorStatus& status) const {
  status.phase = std::string{to_string(phase_)};
  if (failure_) status.phase += ": " + failure_->message;
  status.gauges = {{"admitted", static_cast<double>(counts_.admitted)},
                   {"trained", static_cast<double>(counts_.trained)},
                   {"in_flight", static_cast<double>(counts_.in_flight)},
                   {"restarts", static_cast<double>(restarts_)}};
  if (failure_) status.gauges["failure_code"] = static_cast<double>(failure_->code);
}

SupervisorSelf::behavior_type supervisor(SupervisorState::Self self, Identity identity,
                                         Spawners spawners, SupervisorSettings settings) {
  set_up_actor(self, std::move(identity));
  self->set_down_handler([self](const caf::down_msg& down) { self->state.child_ended(down); });
  // The children are not linked to the supervisor, so it must end them itself.
  self->set_exception_handler([self](std::exception_ptr& thrown) {
    self->state.end_all();
    return ended_by(self->state, thrown);
  });
  self->set_exit_handler([self](const caf::exit_msg& exit) {
    self->state.end_all();
    self->quit(exit.reason);
  });
  self->state.start(self, std::move(spawners), settings);
  return {
      on(self, "status", &SupervisorState::status), on(self, "failure", &SupervisorState::failure),
      on(self, "tick", &SupervisorState::tick),     on(self, "respawn", &SupervisorState::respawn),
      on(self, "stop", &SupervisorState::stop),     on(self, "numbers", &SupervisorState::numbers)};
}

}  // namespace warpsmith::actors
