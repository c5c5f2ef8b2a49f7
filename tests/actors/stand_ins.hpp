// SPDX-License-Identifier: Apache-2.0
// One stand-in per interface: answers every request with a recognisable value and counts all other
// messages, so that a peer in another process can check that each message crossed the wire.
#pragma once

#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <limits>

#include "actors/protocol/inspect.hpp"
#include "actors/protocol/interfaces.hpp"

namespace warpsmith::actors::stand_in {

struct Received {
  uint64_t count = 0;
};

inline ActorStatus status_of(const Received& received) {
  ActorStatus status;
  status.name = "stand-in";
  status.handled = received.count;
  return status;
}

template <class Handle>
using Self = typename Handle::template stateful_pointer<Received>;

template <class Handle>
auto answers_status(Self<Handle> self) {
  return [self](atom::status) { return status_of(self->state); };
}

/// Counts a message with these parts.
template <class... Parts, class SelfPointer>
auto counts(SelfPointer self) {
  return [self](const Parts&...) { ++self->state.count; };
}

inline TelemetryActor::behavior_type telemetry(Self<TelemetryActor> self) {
  return {answers_status<TelemetryActor>(self), counts<Observation>(self),
          [](atom::snapshot) { return Observation{"far", {{"x", 1.5}}, {{"t", "y"}}}; }};
}

inline GeneratorActor::behavior_type generator(Self<GeneratorActor> self) {
  return {answers_status<GeneratorActor>(self), counts<WeightsReady>(self),
          counts<atom::release, TrajectoryId>(self),
          [](const GenerateCall& call) { return call.new_tokens.size() == 3; }};
}

inline WeightStoreActor::behavior_type weight_store(Self<WeightStoreActor> self) {
  return {answers_status<WeightStoreActor>(self), counts<atom::subscribe, GeneratorActor>(self),
          [](atom::pull, PolicyVersion version, uint32_t index) {
            WeightShard shard;
            shard.version = version;
            shard.index = index;
            shard.bytes.assign(1024, 'w');
            return shard;
          }};
}

inline ToolExecutorActor::behavior_type tool_executor(Self<ToolExecutorActor> self) {
  return {answers_status<ToolExecutorActor>(self),
          [](const ToolCall& call) {
            ToolAnswer answer;
            answer.trajectory = call.trajectory;
            answer.text = call.arguments.at("path");
            return answer;
          },
          counts<atom::release, TrajectoryId>(self)};
}

inline SandboxActor::behavior_type sandbox(Self<SandboxActor> self) {
  return {answers_status<SandboxActor>(self),
          [](const EvaluateCall& call) {
            const std::string number =
                std::to_string(call.trajectory) + '.' + std::to_string(call.turn);
            const FileSet& files = call.request.submission.files;
            return Judgement{InfraFailure{InfraKind::noise, number + ": " + files.at("a.cpp")}};
          },
          [](atom::ingest, const Task& task) {
            TaskFacts facts;
            facts.eager_ms = static_cast<double>(task.code.size());
            facts.flops = std::numeric_limits<double>::infinity();
            return facts;
          }};
}

inline SynthesisActor::behavior_type synthesis(Self<SynthesisActor> self) {
  return {answers_status<SynthesisActor>(self), [](atom::next_task) { return PreparedTask{}; },
          [](atom::next_task, const std::string& id) {
            PreparedTask task;
            task.task.id = id;
            return task;
          },
          counts<TaskOutcome>(self), counts<Peers>(self)};
}

inline ComposerActor::behavior_type composer(Self<ComposerActor> self) {
  return {answers_status<ComposerActor>(self),
          [](atom::compose, uint64_t index) {
            return synthesis::Composition{.index = index, .reason = "far"};
          },
          counts<Peers>(self), counts<TokenChunk>(self)};
}

inline LedgerActor::behavior_type ledger(Self<LedgerActor> self) {
  return {answers_status<LedgerActor>(self),
          [](atom::admit, const Task& task) {
            return Admission{true, task.id.size(), task, {}, false, {}};
          },
          [](const Segment& segment) { return segment.number; },
          [](const Closed& closed) { return closed.outcome.reward == 2.0; },
          [](const Dropped& dropped) { return dropped.reason == DropReason::stale; },
          [](const StepDone& step) { return step.trained.size() == 2; },
          [](atom::checkpoint, PolicyVersion version) { return version.step == 5; },
          counts<Judged>(self),
          counts<Event>(self),
          counts<Observation>(self),
          counts<atom::redeliver, LearnerActor>(self),
          counts<atom::drain>(self),
          counts<atom::drain, uint64_t>(self),
          [](atom::counts) { return LedgerCounts{3, 1, {{"stale", 1}}, 1, 1, 0, false}; }};
}

/// With a message to itself, as the real actors have them; `flush` sends one.
using LearnerSelf = LearnerActor::extend<caf::reacts_to<atom::step>>;

inline LearnerSelf::behavior_type learner(Self<LearnerSelf> self) {
  return {answers_status<LearnerSelf>(self),
          counts<Segment>(self),
          counts<Closed>(self),
          counts<Dropped>(self),
          counts<atom::step>(self),
          [self](atom::flush) {
            self->send(self, atom::step_v);
            return true;
          },
          [](atom::checkpoint) { return std::string{"step-7"}; }};
}

inline RolloutActor::behavior_type rollout(Self<RolloutActor> self) {
  return {answers_status<RolloutActor>(self), counts<Peers>(self), counts<TokenChunk>(self)};
}

inline SupervisorActor::behavior_type supervisor(Self<SupervisorActor> self) {
  return {answers_status<SupervisorActor>(self), counts<FailureReport>(self),
          counts<atom::stop>(self),
          [](atom::snapshot) { return Observation{"root", {{"x", 2.5}}}; }};
}

}  // namespace warpsmith::actors::stand_in
