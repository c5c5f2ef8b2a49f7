// SPDX-License-Identifier: Apache-2.0
#include "actors/run/run_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <future>
#include <optional>
#include <stdexcept>
#include <thread>

#include "actors/brain/brain.hpp"
#include "actors/composer/composer.hpp"
#include "actors/generator/generator.hpp"
#include "actors/learner/learner.hpp"
#include "actors/ledger/ledger.hpp"
#include "actors/protocol/errors.hpp"
#include "actors/protocol/inspect.hpp"
#include "actors/rollout/rollout.hpp"
#include "actors/sandbox/sandbox.hpp"
#include "actors/supervisor/supervisor.hpp"
#include "actors/synthesis/synthesis.hpp"
#include "actors/telemetry/telemetry.hpp"
#include "actors/tools/tool_executor.hpp"
#include "actors/weights/weight_store.hpp"

namespace warpsmith::actors {
namespace {

using Inputs = std::shared_ptr<const RunInputs>;

/// Without a learner the weight store gets the run's first weights here, if there are any.
LocalWeightStoreActor spawn_weight_store(caf::actor_system& system, Identity id,
                                         const RunInputs& inputs) {
  LocalWeightStoreActor store = system.spawn(weight_store, std::move(id),
                                             static_cast<uint64_t>(inputs.config.node.chunk_bytes));
  if (!inputs.learns && !has_brain(inputs.config.brain)) {
    auto weights = std::make_shared<const policy::ModelWeights>(inputs.weights.clone());
    caf::anon_send(store, LocalWeights{inputs.origin.version, std::move(weights)});
  }
  return store;
}

/// The actors that own the run's state: the run ends if any of them ends.
void add_run_state(Spawners& s, const Inputs& inputs) {
  s.weight_store = [inputs](caf::actor_system& system, Identity id) {
    return spawn_weight_store(system, std::move(id), *inputs);
  };
  s.ledger = [inputs](caf::actor_system& system, Identity id) {
    return system.spawn<caf::detached>(ledger, std::move(id), inputs->ledger,
                                       ledger_settings(inputs->config, inputs->learns));
  };
  if (!inputs->learns) return;
  s.learner = [inputs](caf::actor_system& system, Identity id, LedgerActor ledger,
                       LocalWeightStoreActor store) {
    const Identity front{id.label + "-front", id.tap};
    const auto spawn = [=](auto* self, auto board) -> LearnerActor {
      LearnerSettings settings = learner_settings(
          inputs->config, {inputs->model, inputs->weights, inputs->origin, inputs->critic},
          inputs->checkpoints);
      settings.board = std::move(board);
      return self->template spawn<caf::detached + caf::linked>(learner, id, std::move(settings),
                                                               ledger, store);
    };
    // Less than what counts as stuck, so that a stuck learner is found in time.
    return system.spawn(learner_front, front, SpawnLearner{spawn},
                        inputs->config.supervisor.stuck_timeout / 2);
  };
}

/// Shared by all synthesis actors of a run, so that a restarted one continues it; null: no limits.
std::shared_ptr<DrawPlan> draw_plan(const RunInputs& inputs) {
  if (!inputs.missing) return nullptr;
  return std::make_shared<DrawPlan>(*inputs.missing);
}

/// Leaves room for the restarts of each incarnation, which begins at 1.
uint64_t first_start(const RunInputs& inputs) {
  return uint64_t{inputs.origin.version.incarnation - 1} << 32U;
}

void add_task_actors(Spawners& s, const Inputs& inputs) {
  s.sandbox = [inputs](caf::actor_system& system, Identity id, uint32_t index) {
    return system.spawn(sandbox, std::move(id),
                        slot_backends(inputs->config.sandbox, inputs->python, index, inputs->ender),
                        SandboxActorSettings{inputs->config.sandbox});
  };
  s.composer = [inputs](caf::actor_system& system, Identity id, uint32_t index) {
    auto settings = composer_settings(inputs->config, inputs->python, inputs->scratch, index);
    settings.policy =
        policy_text(inputs->config, inputs->tokenizer, inputs->frame, inputs->stop_tokens);
    return system.spawn(composer, std::move(id), std::move(settings));
  };
  s.synthesis = [inputs, draws = draw_plan(*inputs), start = first_start(*inputs)](
                    caf::actor_system& system, Identity id,
                    std::vector<SandboxActor> sandboxes) mutable {
    SynthesisSettings settings =
        synthesis_settings(inputs->config, inputs->tasks.size(), inputs->paths.folder);
    settings.draws = draws;
    settings.start = start++;
    settings.history = inputs->history;
    settings.admitted_before = inputs->admitted_before;
    return system.spawn(synthesis, std::move(id), inputs->tasks, std::move(sandboxes),
                        std::move(settings));
  };
}

/// The actor that answers GenerateCalls: the brain if there is one, else a generator.
void add_generator(Spawners& s, const Inputs& inputs) {
  if (has_brain(inputs->config.brain)) {
    s.generator = [inputs](caf::actor_system& system, Identity id, const WeightStoreActor&) {
      return system.spawn<caf::detached>(
          brain, std::move(id),
          brain_settings(inputs->config, {inputs->tokenizer, inputs->frame, inputs->stop_tokens},
                         inputs->paths, inputs->end));
    };
    return;
  }
  s.generator = [inputs](caf::actor_system& system, Identity id, WeightStoreActor store) {
    return system.spawn<caf::detached>(
        generator, std::move(id),
        generator_settings(inputs->config, inputs->model, inputs->stop_tokens), std::move(store));
  };
}

void add_sampling_actors(Spawners& s, const Inputs& inputs) {
  add_generator(s, inputs);
  s.tool_executor = [inputs](caf::actor_system& system, Identity id) {
    return system.spawn<caf::detached>(
        tool_executor, std::move(id),
        tool_executor_settings(inputs->config, inputs->skill, inputs->scratch, inputs->ender));
  };
  s.rollout = [inputs](caf::actor_system& system, Identity id) {
    RolloutSettings settings = rollout_settings(
        inputs->config, {inputs->tokenizer, inputs->frame, inputs->stop_tokens}, inputs->skill);
    settings.judged = inputs->judged;
    return system.spawn(rollout, std::move(id), std::move(settings));
  };
}

/// An upper bound on the size of one checkpoint: the parameters with all their state.
int64_t checkpoint_bytes(const RunInputs& inputs) {
  return inputs.learns ? learner_memory(inputs.config, inputs.model).parameters : 0;
}

}  // namespace

ActorSystemConfig::ActorSystemConfig(int64_t threads) {
  const size_t cores = std::max(1U, std::thread::hardware_concurrency());
  set("scheduler.max-threads", threads > 0 ? static_cast<size_t>(threads) : cores);
  // CAF sets no limit, so an actor that sends to itself would starve its neighbours.
  set("scheduler.max-throughput", size_t{50});
  set("work-stealing.moderate-poll-attempts", size_t{0});
  add_message_types<caf::id_block::warpsmith>();
  add_message_types<caf::id_block::warpsmith_handles>();
  register_errors(*this);
}

Spawners make_spawners(const std::shared_ptr<const RunInputs>& inputs) {
  Spawners s;
  s.telemetry = [](caf::actor_system& system, Identity id) {
    return system.spawn(telemetry, std::move(id));
  };
  add_run_state(s, inputs);
  add_task_actors(s, inputs);
  add_sampling_actors(s, inputs);
  return s;
}

struct RunTree::Parts {
  Parts(const std::shared_ptr<const RunInputs>& inputs, std::unique_ptr<Tap> its_tap)
      : tap(std::move(its_tap)),
        ender(inputs->ender),
        config(inputs->config.run.threads),
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
      throw std::runtime_error("the supervisor did not start: " + up.error().message);
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
  ActorSystemConfig config;
  std::chrono::milliseconds stop_timeout;
  caf::actor_system system;
  std::optional<caf::scoped_actor> self;  // counts as an actor: destroyed first at the end
  LedgerActor ledger;  // written by the supervisor's first handler, read after its first answer
  SupervisorActor root;
};

RunTree::RunTree(const std::shared_ptr<const RunInputs>& inputs, std::unique_ptr<Tap> tap)
    : parts_(std::make_unique<Parts>(inputs, std::move(tap))) {}

RunTree::~RunTree() {
  (*parts_->self)->send_exit(parts_->root, caf::exit_reason::user_shutdown);
  // The rollouts exit first: a running one would treat the ended service as a failure.
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
  // Never freed: an actor that hangs may recover and use it.
  [[maybe_unused]] const auto* left_behind = parts_.release();
  log::error(
      fmt::format("run: actors are still at work {} ms (supervisor.stop_timeout) after the request "
                  "to stop; they are abandoned",
                  bound.count()));
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
