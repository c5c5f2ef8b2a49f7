// SPDX-License-Identifier: Apache-2.0
#include "actors/run/run_tree.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <future>
#include <optional>
#include <stdexcept>
#include <thread>

#include "actors/base/worker_pool.hpp"
#include "actors/learner/learner_settings.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "actors/run/run_spawners.hpp"
#include "actors/supervisor/supervisor_settings.hpp"

namespace warpsmith::actors {
namespace {

struct SystemConfig : caf::actor_system_config {
  explicit SystemConfig(const RunConfig& config) {
    configure_workers(*this, config.run.threads);
    add_message_types<caf::id_block::warpsmith>();
    add_message_types<caf::id_block::warpsmith_handles>();
    register_errors(*this);
  }
};

/// A bound on the size of one checkpoint: the parameters with all their state.
int64_t checkpoint_bytes(const RunInputs& inputs) {
  return inputs.learns ? learner_memory(inputs.config, inputs.model).parameters : 0;
}

}  // namespace

struct RunTree::Parts {
  Parts(const std::shared_ptr<const RunInputs>& inputs, std::unique_ptr<Tap> its_tap)
      : tap(std::move(its_tap)),
        ender(inputs->ender),
        config(inputs->config),
        stop_timeout(inputs->config.supervisor.stop_timeout),
        system(config),
        self(system) {
    Spawners spawners = make_spawners(inputs);
    // Kept for `counts`. The ledger is never restarted, so the handle stays right.
    spawners.ledger = [this, spawn = spawners.ledger](caf::actor_system& sys, Identity id) {
      return ledger = spawn(sys, std::move(id));
    };
    root = system.spawn(supervisor, Identity{"supervisor", tap.get()}, std::move(spawners),
                        supervisor_settings(inputs->config, checkpoint_bytes(*inputs)));
    // The first answer comes after the first handler, so `ledger` is set then.
    if (auto up = ask<ActorStatus>(root, std::chrono::seconds{60}, atom::status_v); !up) {
      throw std::runtime_error("the supervisor does not start: " + up.error().message);
    }
  }

  template <class Out, class Handle, class... Args>
  Result<Out> ask(const Handle& handle, std::chrono::milliseconds bound, Args... args) {
    Result<Out> answer = fail(ErrorCode::timeout, "no answer");
    (*self)
        ->request(handle, bound, args...)
        .receive([&](Out& out) { answer = std::move(out); },
                 [&](caf::error& error) { answer = tl::unexpected(from_caf(error)); });
    return answer;
  }

  std::unique_ptr<Tap> tap;  // outlives every actor
  std::shared_ptr<sandbox::EndSwitch> ender;
  SystemConfig config;
  std::chrono::milliseconds stop_timeout;
  caf::actor_system system;
  std::optional<caf::scoped_actor> self;  // counts as an actor: goes first at the end
  LedgerActor ledger;  // written by the supervisor's first handler, read after its first answer
  SupervisorActor root;
};

RunTree::RunTree(const std::shared_ptr<const RunInputs>& inputs, std::unique_ptr<Tap> tap)
    : parts_(std::make_unique<Parts>(inputs, std::move(tap))) {}

RunTree::~RunTree() {
  (*parts_->self)->send_exit(parts_->root, caf::exit_reason::user_shutdown);
  // The exit comes first: a rollout that still ran would take the ended service for a failure.
  parts_->ender->end_services();
  parts_->self.reset();
  const auto bound = parts_->stop_timeout;
  std::promise<void> promise;
  const auto ended = promise.get_future();
  std::thread waiting([&system = parts_->system, promise = std::move(promise)]() mutable {
    system.await_all_actors_done();
    promise.set_value();
  });
  if (ended.wait_for(bound) == std::future_status::ready) {
    waiting.join();
    return;  // CAF requires the thread that made the system to end it
  }
  waiting.detach();
  // Never freed: an actor that hangs may come back and use it.
  [[maybe_unused]] const auto* left_behind = parts_.release();
  log::error("run: actors are still at work " + std::to_string(bound.count()) +
             " ms (supervisor.stop_timeout) after the order to end; they are left behind");
}

Result<ActorStatus> RunTree::status(std::chrono::milliseconds bound) {
  return parts_->ask<ActorStatus>(parts_->root, bound, atom::status_v);
}

Result<Observation> RunTree::numbers(std::chrono::milliseconds bound) {
  return parts_->ask<Observation>(parts_->root, bound, atom::snapshot_v);
}

Result<LedgerCounts> RunTree::counts(std::chrono::milliseconds bound) {
  return parts_->ask<LedgerCounts>(parts_->ledger, bound, atom::counts_v);
}

void RunTree::stop() {
  (*parts_->self)->send(parts_->root, atom::stop_v);
}

void RunTree::drain() {
  (*parts_->self)->send(parts_->ledger, atom::drain_v);
}

}  // namespace warpsmith::actors
