// SPDX-License-Identifier: Apache-2.0
// Health and the end of the run; supervisor_tree.cpp spawns and replaces.
#include "actors/supervisor/supervisor.hpp"

#include <array>

#include "actors/base/ask.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"

namespace warpsmith::actors {
namespace {

constexpr uint32_t most_idle_flushes = 5;  // a closed trajectory may still be on its way

}  // namespace

std::string_view to_string(RunPhase phase) noexcept {
  static constexpr std::array<std::string_view, 5> names{"running", "flushing", "stopping", "done",
                                                         "failed"};
  return names.at(static_cast<size_t>(phase));
}

void SupervisorState::start(Self self, Spawners spawners, SupervisorSettings settings) {
  self_ = self;
  spawners_ = std::move(spawners);
  settings_ = settings;
  spawn_tree();
  self->send(self, atom::tick_v);
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
            look_at(counts);
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
  if (settings_.status_bound * ++child.unanswered >= settings_.stuck_timeout) let_go(Child{child});
}

/// Takes a stuck actor for ended. It gets an exit in case it comes back.
void SupervisorState::let_go(const Child& child) {
  self_->send_exit(child.handle, caf::exit_reason::user_shutdown);
  children_.erase(child.handle.address());
  const auto silent = settings_.status_bound * child.unanswered;
  const Error cause{ErrorCode::timeout, "stuck: no answer for " + std::to_string(silent.count()) +
                                            " ms (supervisor.stuck_timeout)"};
  if (child.kind != Kind::rollout) return lost(child, cause);
  // The ledger gives its trajectories to no other rollout while it lives.
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
void SupervisorState::look_at(const LedgerCounts& counts) {
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

/// Gives up when the learner repeatedly holds nothing while the ledger counts closed trajectories.
void SupervisorState::flush_learner() {
  if (std::exchange(flush_asked_, true)) return;
  ask(self_, *this, "flushed", peers_.learner, settings_.stop_timeout, atom::flush_v)
      .then(
          [this](bool at_work) {
            flush_asked_ = false;
            idle_flushes_ = at_work ? 0 : idle_flushes_ + 1;
            if (idle_flushes_ < most_idle_flushes || phase_ != RunPhase::flushing) return;
            give_up({ErrorCode::infrastructure,
                     "the learner holds nothing to train, but " + std::to_string(counts_.closed) +
                         " closed trajectories wait for a step; resume the run to train them"});
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
  adopt(self, std::move(identity));
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
