// SPDX-License-Identifier: Apache-2.0
#include "actors/run/run_spawners.hpp"

#include <caf/send.hpp>

#include "actors/brain/brain.hpp"
#include "actors/composer/composer_settings.hpp"
#include "actors/generator/generator_settings.hpp"
#include "actors/learner/learner_front.hpp"
#include "actors/learner/learner_settings.hpp"
#include "actors/ledger/ledger_settings.hpp"
#include "actors/protocol/inspect.hpp"
#include "actors/rollout/rollout_settings.hpp"
#include "actors/sandbox/sandbox_settings.hpp"
#include "actors/synthesis/synthesis_settings.hpp"
#include "actors/telemetry/telemetry.hpp"
#include "actors/tools/tool_executor_settings.hpp"
#include "actors/weights/weight_store.hpp"

namespace warpsmith::actors {
namespace {

using Inputs = std::shared_ptr<const RunInputs>;

/// Without a learner the weight store is given the weights of the start here, if there are any.
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

/// The actors that keep the run's state: the run ends with any of them.
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

/// One for all synthesis actors of a run, so that a restart goes on; null: no limits.
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
                        sandbox_settings(inputs->config.sandbox));
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

/// What gives the agent's tokens: a brain if there is one.
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

}  // namespace

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

}  // namespace warpsmith::actors
