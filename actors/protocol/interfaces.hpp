// SPDX-License-Identifier: Apache-2.0
// The whole wiring of the engine: one interface per actor kind, one line per handler.
//
// CAF's mailboxes are unbounded, so every stream has a bound of its own:
//   rollout → generator, executor, sandbox: one request under way per trajectory, of which a
//   rollout
//     runs `concurrent`; generator and sandbox refuse beyond their slots and queue (error capacity)
//   generator → rollout: the `credit` of the call, in tokens
//   rollout → synthesis, ledger: one question per slot; segments and ends: one per turn
//   ledger → learner: what was admitted and not trained, `ledger.max_in_flight` trajectories
//   learner → ledger: one step at a time; the next begins after the answer
//   weight store → generator: the newest version only, pulled piece by piece
//   supervisor → everybody: one status request that is not answered
//   supervisor → ledger, telemetry: one observation per answered status request
#pragma once

#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

#include "actors/protocol/local_messages.hpp"
#include "actors/protocol/type_ids.hpp"

namespace warpsmith::actors {

// Every kind answers this at once, whatever its phase.
using AnswersStatus = caf::replies_to<atom::status>::with<ActorStatus>;

/// Hears everything that is worth a number.
using TelemetryActor = caf::typed_actor<AnswersStatus,
                                        // Adds the values to the source's latest ones.
                                        caf::reacts_to<Observation>,
                                        // The latest values of every source, keyed "source.name".
                                        caf::replies_to<atom::snapshot>::with<Observation>>;

/// Samples tokens: continuous batching over the sessions of many rollouts.
using GeneratorActor =
    caf::typed_actor<AnswersStatus,
                     // Newer weights can be pulled; taken between two decode steps, without
                     // draining.
                     caf::reacts_to<WeightsReady>,
                     // Forgets a session and its KV cache.
                     caf::reacts_to<atom::release, TrajectoryId>,
                     // One decode step; it sends this to itself while there is work.
                     caf::reacts_to<atom::step>,
                     // Continues a session; true when taken, error capacity otherwise. The tokens
                     // then stream to the sender as TokenChunk, never more than the call's credit.
                     caf::replies_to<GenerateCall>::with<bool>>;

/// Holds the newest weights as immutable shards. Readers pull; nobody is waited for.
using WeightStoreActor =
    caf::typed_actor<AnswersStatus,
                     // A newer version, by reference; every subscriber hears WeightsReady.
                     caf::reacts_to<LocalWeights>,
                     // Tells this generator of every newer version, and of the newest at once.
                     caf::reacts_to<atom::subscribe, GeneratorActor>,
                     // The newest version by reference, for readers in this process; error
                     // not_found before the first.
                     caf::replies_to<atom::pull>::with<LocalWeights>,
                     // Piece `index` of a version, for readers on other nodes; error stale once it
                     // is replaced.
                     caf::replies_to<atom::pull, PolicyVersion, uint32_t>::with<WeightShard>>;

/// Runs the model's tool calls in workspaces, one jail at a time.
using ToolExecutorActor =
    caf::typed_actor<AnswersStatus,
                     // The text for the model, or a frozen submission that a sandbox must judge.
                     caf::replies_to<ToolCall>::with<ToolAnswer>,
                     // The trajectory is over: its workspace goes.
                     caf::reacts_to<atom::release, TrajectoryId>>;

/// Owns one device (a CPU slot or a GPU) and judges kernels on it, one after the other.
using SandboxActor =
    caf::typed_actor<AnswersStatus,
                     // A verdict, or an infrastructure failure. Never an exception text.
                     caf::replies_to<EvaluateCall>::with<EvaluateReply>,
                     // Measures a task once per machine and stack; an error when the task is
                     // refused.
                     caf::replies_to<atom::ingest, Task>::with<TaskFacts>,
                     // What its worker is doing, as a line for people.
                     caf::reacts_to<atom::progress, std::string>>;

struct Peers;

/// A stream of tasks that passed ingest.
using SynthesisActor =
    caf::typed_actor<AnswersStatus,
                     // The next task by the curriculum; waits until one is accepted.
                     caf::replies_to<atom::next_task>::with<PreparedTask>,
                     // A task by its id, for a trajectory that goes on after its rollout died;
                     // error not_found.
                     caf::replies_to<atom::next_task, std::string>::with<PreparedTask>,
                     // What became of one: input of the curriculum.
                     caf::reacts_to<TaskOutcome>,
                     // Whom to ask for ingest; sent at the start and after every restart.
                     caf::reacts_to<Peers>,
                     // Ingests the next task of its sources; it sends this to itself.
                     caf::reacts_to<atom::step>>;

/// One rank of the learner: policy, critic and optimiser.
using LearnerActor =
    caf::typed_actor<AnswersStatus,
                     // A turn of a trajectory that still runs: forwards happen now, the prefix is
                     // kept.
                     caf::reacts_to<Segment>,
                     // The reward: advantages, gradient, and a step when the budget is met.
                     caf::reacts_to<Closed>,
                     // The trajectory will not be trained.
                     caf::reacts_to<Dropped>,
                     // One pack of work; it sends this to itself while there is some.
                     caf::reacts_to<atom::step>,
                     // No more will come: a step with what it holds, however little. False when
                     // it has nothing to make one of.
                     caf::replies_to<atom::flush>::with<bool>,
                     // Writes a checkpoint now; answers its folder.
                     caf::replies_to<atom::checkpoint>::with<std::string>>;

/// Counts and stores every trajectory. Each answer means "durable".
using LedgerActor =
    caf::typed_actor<AnswersStatus,
                     // Admits a trajectory of the named task as soon as the staleness capacity
                     // allows.
                     caf::replies_to<atom::admit, Task>::with<Admission>,
                     // Appends a turn; idempotent by number. Answers the number.
                     caf::replies_to<Segment>::with<uint32_t>,
                     // The trajectory has its reward.
                     caf::replies_to<Closed>::with<bool>,
                     // The trajectory leaves with a reason.
                     caf::replies_to<Dropped>::with<bool>,
                     // A step was made. Its checkpoint may be written once this is answered.
                     caf::replies_to<StepDone>::with<bool>,
                     // The checkpoint of a version is durable.
                     caf::replies_to<atom::checkpoint, PolicyVersion>::with<bool>,
                     // Makes what it answered for durable; it sends this to itself.
                     caf::reacts_to<atom::flush>,
                     // A verdict, for the record.
                     caf::reacts_to<Judged>,
                     // What the supervisor did, for the record.
                     caf::reacts_to<Event>,
                     // An actor's numbers: what they say of a step goes into its record.
                     caf::reacts_to<Observation>,
                     // Tells this learner of segments, rewards and drops once they are durable, and
                     // first of every trajectory that no surviving step has used.
                     caf::reacts_to<atom::redeliver, LearnerActor>,
                     // Admits nothing more; what is in flight goes on.
                     caf::reacts_to<atom::drain>,
                     // The conservation law as numbers.
                     caf::replies_to<atom::counts>::with<LedgerCounts>>;

/// Up to K trajectories at once, each a small state machine.
using RolloutActor = caf::typed_actor<AnswersStatus,
                                      // Whom to talk to; sent at the start and after every restart.
                                      caf::reacts_to<Peers>,
                                      // Tokens of one of its sessions.
                                      caf::reacts_to<TokenChunk>,
                                      // Fills free slots, looks at deadlines.
                                      caf::reacts_to<atom::tick>>;

/// Spawns and watches all of them.
using SupervisorActor = caf::typed_actor<AnswersStatus,
                                         // The run cannot go on: it ends, and the end says why.
                                         caf::reacts_to<FailureReport>,
                                         // Polls progress and deadlines.
                                         caf::reacts_to<atom::tick>,
                                         // Starts an actor of this kind and index again; it sends
                                         // this to itself after the back-off.
                                         caf::reacts_to<atom::respawn, uint8_t, uint32_t>,
                                         // Drains, checkpoints, stops everything in order.
                                         caf::reacts_to<atom::stop>>;

/// The handles that rollouts and the synthesis need.
struct Peers {
  SupervisorActor supervisor;
  SynthesisActor synthesis;
  LedgerActor ledger;
  LearnerActor learner;
  std::vector<GeneratorActor> generators;
  std::vector<ToolExecutorActor> tool_executors;
  std::vector<SandboxActor> sandboxes;
};

template <class Inspector>
typename Inspector::result_type inspect(Inspector& f, Peers& x) {
  return f(x.supervisor, x.synthesis, x.ledger, x.learner, x.generators, x.tool_executors,
           x.sandboxes);
}

}  // namespace warpsmith::actors

CAF_BEGIN_TYPE_ID_BLOCK(warpsmith_handles, caf::id_block::warpsmith_last_type_id + 1)
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::Peers))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::RolloutActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::GeneratorActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::ToolExecutorActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::SandboxActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::LearnerActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::LedgerActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::SynthesisActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::WeightStoreActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::TelemetryActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (warpsmith::actors::SupervisorActor))
CAF_ADD_TYPE_ID(warpsmith_handles, (std::vector<warpsmith::actors::GeneratorActor>))
CAF_ADD_TYPE_ID(warpsmith_handles, (std::vector<warpsmith::actors::ToolExecutorActor>))
CAF_ADD_TYPE_ID(warpsmith_handles, (std::vector<warpsmith::actors::SandboxActor>))
CAF_END_TYPE_ID_BLOCK(warpsmith_handles)
