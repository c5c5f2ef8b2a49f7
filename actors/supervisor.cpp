// SPDX-License-Identifier: Apache-2.0
// Health and the end of the run; supervisor_tree.cpp spawns and replaces.
#include "actors/supervisor.hpp"

#include <array>

#include "actors/errors.hpp"
#include "actors/inspect.hpp"

namespace warpsmith::actors {

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
  for (const auto& [address, child] : children_) ask_status(child);
  self_->request(peers_.ledger, settings_.status_bound, atom::counts_v)
      .then([this](const LedgerCounts& counts) { look_at(counts); },
            [this](const caf::error& error) {
              log::warn(label() + ": the ledger does not answer: " + from_caf(error).message);
            });
  self_->delayed_send(self_, settings_.heartbeat, atom::tick_v);
}

void SupervisorState::ask_status(const Child& child) {
  self_->request(child.handle, settings_.status_bound, atom::status_v)
      .then(
          [this](ActorStatus& status) {
            Observation seen{status.name, std::move(status.gauges), {}};
            seen.texts["phase"] = std::move(status.phase);
            seen.values["handled"] = static_cast<double>(status.handled);
            seen.values["busy_s"] = status.busy_s;
            seen.values["alive_s"] = status.alive_s;
            seen.values["queued"] = static_cast<double>(status.queued);
            self_->send(telemetry_, std::move(seen));
          },
          [this, label = child.label, leaving = child.leaving](const caf::error& error) {
            if (leaving) return;
            log::warn(this->label() + ": " + label +
                      " does not answer: " + from_caf(error).message);
          });
}

/// The run ends when nothing more is admitted and nothing is in flight.
void SupervisorState::look_at(const LedgerCounts& counts) {
  counts_ = counts;
  if (phase_ != RunPhase::running && phase_ != RunPhase::flushing) return;
  if (!counts.exhausted || counts.open > 0) return;
  if (!spawners_.learner || counts.in_flight == 0) return finish(RunPhase::done);
  phase_ = RunPhase::flushing;
  if (counts.closed > 0) {
    self_->send(peers_.learner, atom::flush_v);
  } else {
    take_checkpoint(RunPhase::done);
  }
}

void SupervisorState::take_checkpoint(RunPhase next) {
  if (std::exchange(checkpointing_, true)) return;
  self_->request(peers_.learner, settings_.stop_timeout, atom::checkpoint_v)
      .then(
          [this, next](const std::string& folder) {
            log::info(label() + ": checkpoint " + folder);
            finish(next);
          },
          [this](const caf::error& error) {
            give_up("the last checkpoint failed: " + from_caf(error).message);
          });
}

void SupervisorState::stop(atom::stop /*unused*/) {
  if (phase_ != RunPhase::running && phase_ != RunPhase::flushing) return;
  phase_ = RunPhase::stopping;
  self_->send(peers_.ledger, atom::drain_v);
  for (auto& [address, child] : children_) {
    if (child.kind == Kind::rollout) dismiss(child);  // what they ran stays open on disk
  }
  if (!spawners_.learner) return finish(RunPhase::done);
  take_checkpoint(RunPhase::done);
}

void SupervisorState::failure(const FailureReport& report) {
  log::error(report.actor + ": " + report.message);
  if (report.fatal) give_up(report.actor + ": " + report.message);
}

void SupervisorState::give_up(const std::string& reason) {
  if (phase_ == RunPhase::failed) return;
  failure_ = reason;
  log::error(label() + ": the run stops: " + reason);
  finish(RunPhase::failed);
}

/// Ends everything, leaves first. Main waits for the actor system, then for nothing.
void SupervisorState::finish(RunPhase phase) {
  phase_ = phase;
  for (const Kind kind : {Kind::rollout, Kind::generator, Kind::tool_executor, Kind::synthesis,
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
  if (!failure_.empty()) status.phase += ": " + failure_;
  status.gauges = {{"admitted", static_cast<double>(counts_.admitted)},
                   {"trained", static_cast<double>(counts_.trained)},
                   {"in_flight", static_cast<double>(counts_.in_flight)},
                   {"restarts", static_cast<double>(restarts_)}};
}

SupervisorActor::behavior_type supervisor(SupervisorActor::stateful_pointer<SupervisorState> self,
                                          Identity identity, Spawners spawners,
                                          SupervisorSettings settings) {
  adopt(self, std::move(identity));
  self->set_down_handler([self](const caf::down_msg& down) { self->state.child_ended(down); });
  self->set_exit_handler([self](const caf::exit_msg& exit) {
    self->state.end_all();
    self->quit(exit.reason);
  });
  self->state.start(self, std::move(spawners), settings);
  return {
      on(self, "status", &SupervisorState::status), on(self, "failure", &SupervisorState::failure),
      on(self, "tick", &SupervisorState::tick),     on(self, "respawn", &SupervisorState::respawn),
      on(self, "stop", &SupervisorState::stop),     on(self, "scale", &SupervisorState::scale)};
}

}  // namespace warpsmith::actors
