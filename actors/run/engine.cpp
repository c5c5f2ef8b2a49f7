// SPDX-License-Identifier: Apache-2.0
#include "actors/run/engine.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <future>
#include <optional>
#include <stdexcept>
#include <thread>

#include "actors/base/worker_pool.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "actors/run/engine_settings.hpp"
#include "actors/sandbox/slot_cores.hpp"
#include "actors/telemetry/telemetry.hpp"
#include "actors/weights/weight_store.hpp"

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

/// A compiler beside the slot only where it has a core of its own: it would disturb what is timed.
SandboxBackends slot_backends(const EngineInputs& inputs, uint32_t index) {
  SandboxBackends backends{
      service_backend(slot_options(inputs.config.sandbox, inputs.python, index), inputs.ender), {}};
  if (!cores_beside_slots(inputs.config.sandbox).empty()) {
    backends.compiler =
        service_backend(beside_slots_options(inputs.config.sandbox, inputs.python), inputs.ender);
  }
  return backends;
}

}  // namespace

Spawners make_spawners(const std::shared_ptr<const EngineInputs>& inputs) {
  Spawners s;
  s.telemetry = [](caf::actor_system& system, Identity id) {
    return system.spawn(telemetry, std::move(id));
  };
  s.weight_store = [inputs](caf::actor_system& system, Identity id) {
    const auto chunk = static_cast<uint64_t>(inputs->config.node.chunk_bytes);
    return system.spawn(weight_store, std::move(id), chunk);
  };
  s.ledger = [inputs](caf::actor_system& system, Identity id) {
    return system.spawn<caf::detached>(ledger, std::move(id), inputs->ledger,
                                       ledger_settings(*inputs));
  };
  s.sandbox = [inputs](caf::actor_system& system, Identity id, uint32_t index) {
    return system.spawn(sandbox, std::move(id), slot_backends(*inputs, index),
                        sandbox_settings(*inputs));
  };
  s.synthesis = [inputs](caf::actor_system& system, Identity id,
                         std::vector<SandboxActor> sandboxes) {
    return system.spawn(synthesis, std::move(id), inputs->tasks, std::move(sandboxes),
                        synthesis_settings(*inputs));
  };
  if (inputs->learns) {
    s.learner = [inputs](caf::actor_system& system, Identity id, LedgerActor ledger,
                         WeightStoreActor store) {
      return system.spawn<caf::detached>(learner, std::move(id), learner_settings(inputs),
                                         std::move(ledger), std::move(store));
    };
  }
  s.generator = [inputs](caf::actor_system& system, Identity id, WeightStoreActor store) {
    return system.spawn<caf::detached>(generator, std::move(id), generator_settings(*inputs),
                                       std::move(store));
  };
  s.tool_executor = [inputs](caf::actor_system& system, Identity id) {
    return system.spawn<caf::detached>(tool_executor, std::move(id),
                                       tool_executor_settings(*inputs));
  };
  s.rollout = [inputs](caf::actor_system& system, Identity id) {
    return system.spawn(rollout, std::move(id), rollout_settings(inputs));
  };
  return s;
}

SupervisorSettings supervisor_settings(const RunConfig& config) {
  SupervisorSettings settings;
  settings.counts = {static_cast<uint32_t>(config.sandbox.count),
                     static_cast<uint32_t>(config.generator.count),
                     static_cast<uint32_t>(config.tool_executor.count),
                     static_cast<uint32_t>(config.rollout.count)};
  settings.heartbeat = config.supervisor.heartbeat;
  settings.status_bound = config.supervisor.status_bound;
  settings.stop_timeout = config.supervisor.stop_timeout;
  for (RestartLimits& limits : settings.restarts) {
    limits.max_restarts =
        std::min(limits.max_restarts, static_cast<uint32_t>(config.supervisor.max_restarts));
    limits.window = config.supervisor.restart_window;
    limits.first_delay = config.supervisor.first_backoff;
    limits.max_delay = config.supervisor.last_backoff;
  }
  return settings;
}

struct EngineRun::Parts {
  Parts(const std::shared_ptr<const EngineInputs>& inputs, std::unique_ptr<Tap> its_tap)
      : tap(std::move(its_tap)),
        ender(inputs->ender),
        config(inputs->config),
        stop_timeout(inputs->config.supervisor.stop_timeout),
        system(config),
        self(system) {
    Spawners spawners = make_spawners(inputs);
    // The handles that main asks are spawned by the supervisor: caught on their way.
    spawners.ledger = [this, spawn = spawners.ledger](caf::actor_system& sys, Identity id) {
      return ledger = spawn(sys, std::move(id));
    };
    spawners.telemetry = [this, spawn = spawners.telemetry](caf::actor_system& sys, Identity id) {
      return telemetry = spawn(sys, std::move(id));
    };
    if (!inputs->learns) publish(spawners, inputs);
    root = system.spawn(supervisor, Identity{"supervisor", tap.get()}, std::move(spawners),
                        supervisor_settings(inputs->config));
    // Its first answer comes after its first handler: `ledger` and `telemetry` are set.
    if (auto up = ask<ActorStatus>(root, std::chrono::seconds{60}, atom::status_v); !up) {
      throw std::runtime_error("the supervisor does not start: " + up.error().message);
    }
  }

  /// Without a learner somebody must hand out the weights.
  void publish(Spawners& spawners, const std::shared_ptr<const EngineInputs>& inputs) {
    spawners.weight_store = [spawn = spawners.weight_store, inputs](caf::actor_system& sys,
                                                                    Identity id) {
      WeightStoreActor store = spawn(sys, std::move(id));
      auto weights = std::make_shared<const policy::ModelWeights>(inputs->weights.clone());
      caf::anon_send(store, LocalWeights{inputs->origin.version, std::move(weights)});
      return store;
    };
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

  std::unique_ptr<Tap> tap;
  std::shared_ptr<sandbox::EndSwitch> ender;
  SystemConfig config;
  std::chrono::milliseconds stop_timeout;
  caf::actor_system system;
  std::optional<caf::scoped_actor> self;  // counts as an actor: goes first at the end
  LedgerActor ledger;  // written by the supervisor's first handler, read after its first answer
  TelemetryActor telemetry;
  SupervisorActor root;
};

EngineRun::EngineRun(const std::shared_ptr<const EngineInputs>& inputs, std::unique_ptr<Tap> tap)
    : parts_(std::make_unique<Parts>(inputs, std::move(tap))) {}

EngineRun::~EngineRun() {
  (*parts_->self)->send_exit(parts_->root, caf::exit_reason::user_shutdown);
  // Rollouts were told to leave before: none of them takes this for the end of its submission.
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
    return;  // CAF wants its system to end on the thread that made it
  }
  waiting.detach();
  // In use for good: whoever hangs may come back.
  [[maybe_unused]] const auto* left_behind = parts_.release();
  log::error("engine: actors are still at work " + std::to_string(bound.count()) +
             " ms (supervisor.stop_timeout) after they were told to end; they are left behind");
}

Result<ActorStatus> EngineRun::status(std::chrono::milliseconds bound) {
  return parts_->ask<ActorStatus>(parts_->root, bound, atom::status_v);
}

Result<Observation> EngineRun::numbers(std::chrono::milliseconds bound) {
  return parts_->ask<Observation>(parts_->telemetry, bound, atom::snapshot_v);
}

Result<LedgerCounts> EngineRun::counts(std::chrono::milliseconds bound) {
  return parts_->ask<LedgerCounts>(parts_->ledger, bound, atom::counts_v);
}

void EngineRun::stop() {
  (*parts_->self)->send(parts_->root, atom::stop_v);
}

void EngineRun::drain() {
  (*parts_->self)->send(parts_->ledger, atom::drain_v);
}

}  // namespace warpsmith::actors
