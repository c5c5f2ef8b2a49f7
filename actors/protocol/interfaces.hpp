// SPDX-License-Identifier: Apache-2.0
// Every message that one actor may send to another: one interface per kind of actor, a line per
// handler. What an actor sends to itself is declared with that actor.
//
// CAF's mailboxes are unbounded, so every stream has its own bound:
//   rollout → generator, tool executor, sandbox: one request in flight per trajectory, of which a
//     rollout runs `concurrent`; generator and sandbox refuse more than they have room for
//     (error capacity)
//   composer → generator: one request in flight; the generator has a session for each composer
//   generator → rollout, composer: the `credit` of the call, in tokens
//   synthesis → composer: one candidate in flight per composer; a few accepted ones wait for ingest
//   rollout → synthesis, ledger: one request per free slot; one segment per turn, one end
//   ledger → learner: trajectories admitted and not yet trained, at most `ledger.max_in_flight`
//   learner → ledger: one step at a time; the next begins after the answer
//   weight store → generator: the newest version only, pulled piece by piece
//   supervisor → every actor: one unanswered status request
//   supervisor → ledger, telemetry: one observation per answered status request
#pragma once

#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

#include "actors/protocol/type_ids.hpp"

namespace warpsmith::actors {

// Every actor answers this at once, in every phase.
using AnswersStatus = caf::replies_to<atom::status>::with<ActorStatus>;

struct Peers;

// clang-format off: one layout for the whole catalogue

/// Keeps the latest numbers of every actor.
using TelemetryActor =
    caf::typed_actor<AnswersStatus,
                     // Replaces the source's values of the same names.
                     caf::reacts_to<Observation>,
                     // Answers the latest values of all sources, keyed "source.name".
                     caf::replies_to<atom::snapshot>::with<Observation>>;

/// The interface of every actor that asks a generator for tokens.
using TokenReaderActor = caf::typed_actor<
    // Takes tokens of one of its sessions.
    caf::reacts_to<TokenChunk>>;

/// Samples tokens: continuous batching over the sessions of many rollouts.
using GeneratorActor =
    caf::typed_actor<AnswersStatus,
                     // Pulls newer weights from the store and loads them between two decode steps.
                     caf::reacts_to<WeightsReady>,
                     // Drops a session and its KV cache.
                     caf::reacts_to<atom::release, TrajectoryId>,
                     // Continues a session; tokens stream to the sender as TokenChunk. Error
                     // capacity: not now.
                     caf::replies_to<GenerateCall>::with<bool>>;

/// Holds the newest weights as immutable shards, which readers pull.
using WeightStoreActor = caf::typed_actor<
    AnswersStatus,
    // Sends WeightsReady to this generator now, if there are weights, and for every newer version.
    caf::reacts_to<atom::subscribe, GeneratorActor>,
    // Answers piece `index` of a version; error stale once a newer version has replaced it.
    caf::replies_to<atom::pull, PolicyVersion, uint32_t>::with<WeightShard>>;

/// Runs the model's tool calls in workspaces, one call at a time.
using ToolExecutorActor = caf::typed_actor<AnswersStatus,
                                           // Answers a text for the model, or a frozen submission
                                           // that a sandbox must judge.
                                           caf::replies_to<ToolCall>::with<ToolAnswer>,
                                           // Removes the workspace of a trajectory that has ended.
                                           caf::reacts_to<atom::release, TrajectoryId>>;

/// Owns one device (a CPU slot or a GPU) and judges kernels on it, one after the other.
using SandboxActor = caf::typed_actor<
    AnswersStatus,
    // Answers a verdict or an infrastructure failure; error capacity when the queue is full.
    caf::replies_to<EvaluateCall>::with<Judgement>,
    // Measures a task, once per machine and stack; an error when the task is refused.
    caf::replies_to<atom::ingest, Task>::with<TaskFacts>>;

/// Composes and filters new tasks: one candidate at a time.
using ComposerActor =
    caf::typed_actor<AnswersStatus,
                     // Answers the result of the candidate with this number. Error capacity:
                     // another is in progress.
                     caf::replies_to<atom::compose, uint64_t>::with<synthesis::Composition>,
                     // Sets the generators to ask; sent at the start and after every restart.
                     caf::reacts_to<Peers>,
                     // Takes tokens that the run's own generator writes for a candidate.
                     caf::reacts_to<TokenChunk>>;

/// A stream of tasks that passed ingest.
using SynthesisActor =
    caf::typed_actor<AnswersStatus,
                     // Answers the curriculum's next task, as soon as enough tasks are accepted.
                     caf::replies_to<atom::next_task>::with<PreparedTask>,
                     // Answers the task of this id, for a trajectory that resumes; error not_found.
                     caf::replies_to<atom::next_task, std::string>::with<PreparedTask>,
                     // Adds the outcome of one trajectory to the curriculum.
                     caf::reacts_to<TaskOutcome>,
                     // Sets the actors to work with; sent at the start and after every restart.
                     caf::reacts_to<Peers>>;

/// One rank of the learner: policy, critic and optimiser.
using LearnerActor = caf::typed_actor<
    AnswersStatus,
    // Takes a turn of a running trajectory: its forward passes run now, its prefix is kept.
    caf::reacts_to<Segment>,
    // Takes the reward: computes advantages and the gradient, and steps when the budget is met.
    caf::reacts_to<Closed>,
    // Forgets a trajectory that will not be trained.
    caf::reacts_to<Dropped>,
    // Makes a step of everything it has, because no more will come. False: it has nothing.
    caf::replies_to<atom::flush>::with<bool>,
    // Writes a checkpoint now and answers its folder.
    caf::replies_to<atom::checkpoint>::with<std::string>>;

/// Counts and stores every trajectory. An answer means that the change is durable.
using LedgerActor = caf::typed_actor<
    AnswersStatus,
    // Admits a trajectory of this task as soon as the staleness capacity allows it. For a task with
    // an empty id (an evaluation has no more), only a trajectory that lost its rollout is admitted.
    caf::replies_to<atom::admit, Task>::with<Admission>,
    // Appends a turn and answers its number; appending it again changes nothing.
    caf::replies_to<Segment>::with<uint32_t>,
    // Ends a trajectory with its reward.
    caf::replies_to<Closed>::with<bool>,
    // Ends a trajectory without one, for a reason.
    caf::replies_to<Dropped>::with<bool>,
    // Records an optimiser step. The step's checkpoint may be written after the answer.
    caf::replies_to<StepDone>::with<bool>,
    // Records that the checkpoint of this version is durable.
    caf::replies_to<atom::checkpoint, PolicyVersion>::with<bool>,
    // Records a verdict.
    caf::reacts_to<Judged>,
    // Records what happened to an actor or a task.
    caf::reacts_to<Event>,
    // Adds an actor's numbers to the record of the next step.
    caf::reacts_to<Observation>,
    // Sends this learner everything recorded and untrained, then each change once it is durable.
    caf::reacts_to<atom::redeliver, LearnerActor>,
    // Admits nothing more; trajectories in flight continue.
    caf::reacts_to<atom::drain>,
    // Admits at most this many trajectories in all, over every incarnation.
    caf::reacts_to<atom::drain, uint64_t>,
    // Answers the terms of the conservation law.
    caf::replies_to<atom::counts>::with<LedgerCounts>>;

/// Up to `concurrent` trajectories at once, each a small state machine.
using RolloutActor =
    caf::typed_actor<AnswersStatus,
                     // Sets the actors to work with; sent at the start and after every restart.
                     caf::reacts_to<Peers>,
                     // Takes tokens of one of its sessions.
                     caf::reacts_to<TokenChunk>>;

/// Spawns, watches and restarts all other actors.
using SupervisorActor =
    caf::typed_actor<AnswersStatus,
                     // Ends the run as failed, with this reason.
                     caf::reacts_to<FailureReport>,
                     // Stops the run: drains, writes a checkpoint, ends every actor in order.
                     caf::reacts_to<atom::stop>,
                     // Forwards the question to the current telemetry actor.
                     caf::replies_to<atom::snapshot>::with<Observation>>;

// clang-format on

/// The handles that rollouts, composers and the synthesis need.
struct Peers {
  SupervisorActor supervisor;
  SynthesisActor synthesis;
  LedgerActor ledger;
  LearnerActor learner;
  std::vector<GeneratorActor> generators;
  std::vector<ToolExecutorActor> tool_executors;
  std::vector<SandboxActor> sandboxes;
  std::vector<ComposerActor> composers;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, Peers& x) {
  return f(x.supervisor, x.synthesis, x.ledger, x.learner, x.generators, x.tool_executors,
           x.sandboxes, x.composers);
}

}  // namespace warpsmith::actors

CAF_BEGIN_TYPE_ID_BLOCK(warpsmith_handles, caf::id_block::warpsmith_last_type_id + 1)
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::Peers))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::RolloutActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::GeneratorActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::ToolExecutorActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::SandboxActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::ComposerActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::LearnerActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::LedgerActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::SynthesisActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::WeightStoreActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::TelemetryActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::SupervisorActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (std::vector<warpsmith::actors::GeneratorActor>))
CAF_ADD_TYPE_ID(warpsmith_handles, (std::vector<warpsmith::actors::ToolExecutorActor>))
CAF_ADD_TYPE_ID(warpsmith_handles, (std::vector<warpsmith::actors::SandboxActor>))
CAF_ADD_TYPE_ID(warpsmith_handles, (std::vector<warpsmith::actors::ComposerActor>))
CAF_END_TYPE_ID_BLOCK(warpsmith_handles)
