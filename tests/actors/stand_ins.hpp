// SPDX-License-Identifier: Apache-2.0
// One stand-in per interface: answers every request with a recognisable value and counts what it
// merely hears, so that a peer in another process can check that each message crossed the wire.
#pragma once

#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <limits>

#include "actors/protocol/inspect.hpp"
#include "actors/protocol/interfaces.hpp"

namespace warpsmith::actors::stand_in {

struct Heard {
  uint64_t count = 0;
};

inline ActorStatus status_of(const Heard& heard) {
  ActorStatus status;
  status.name = "stand-in";
  status.handled = heard.count;
  return status;
}

template <class Handle>
using Self = typename Handle::template stateful_pointer<Heard>;

template <class Handle>
auto answers_status(Self<Handle> self) {
  return [self](atom::status) { return status_of(self->state); };
}

/// Counts a message whatever its parts.
template <class... Parts, class SelfPointer>
auto hears(SelfPointer self) {
  return [self](const Parts&...) { ++self->state.count; };
}

inline TelemetryActor::behavior_type telemetry(Self<TelemetryActor> self) {
  return {answers_status<TelemetryActor>(self), hears<Observation>(self),
          [](atom::snapshot) { return Observation{"far", {{"x", 1.5}}, {{"t", "y"}}}; }};
}

inline GeneratorActor::behavior_type generator(Self<GeneratorActor> self) {
  return {answers_status<GeneratorActor>(self), hears<WeightsReady>(self),
          hears<atom::release, TrajectoryId>(self), hears<atom::step>(self),
          [](const GenerateCall& call) { return call.new_tokens.size() == 3; }};
}

inline WeightStoreActor::behavior_type weight_store(Self<WeightStoreActor> self) {
  return {answers_status<WeightStoreActor>(self), hears<LocalWeights>(self),
          hears<atom::subscribe, GeneratorActor>(self), [](atom::pull) { return LocalWeights{}; },
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
          hears<atom::release, TrajectoryId>(self)};
}

inline SandboxActor::behavior_type sandbox(Self<SandboxActor> self) {
  return {answers_status<SandboxActor>(self),
          [](const EvaluateCall& call) {
            return EvaluateReply{call.trajectory, InfraFailure{InfraKind::noise, "far"}};
          },
          [](atom::ingest, const Task& task) {
            TaskFacts facts;
            facts.eager_ms = static_cast<double>(task.code.size());
            facts.flops = std::numeric_limits<double>::infinity();
            return facts;
          },
          hears<atom::progress, std::string>(self)};
}

inline SynthesisActor::behavior_type synthesis(Self<SynthesisActor> self) {
  return {answers_status<SynthesisActor>(self),
          [](atom::next_task) { return PreparedTask{}; },
          [](atom::next_task, const std::string& id) {
            PreparedTask task;
            task.task.id = id;
            return task;
          },
          hears<TaskOutcome>(self),
          hears<Peers>(self),
          hears<atom::step>(self)};
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
          hears<atom::flush>(self),
          hears<Judged>(self),
          hears<Event>(self),
          hears<Observation>(self),
          hears<atom::redeliver, LearnerActor>(self),
          hears<atom::drain>(self),
          [](atom::counts) { return LedgerCounts{3, 1, {{"stale", 1}}, 1, 1, 0, false}; }};
}

inline LearnerActor::behavior_type learner(Self<LearnerActor> self) {
  return {answers_status<LearnerActor>(self),
          hears<Segment>(self),
          hears<Closed>(self),
          hears<Dropped>(self),
          hears<atom::step>(self),
          [](atom::flush) { return true; },
          [](atom::checkpoint) { return std::string{"step-7"}; }};
}

inline RolloutActor::behavior_type rollout(Self<RolloutActor> self) {
  return {answers_status<RolloutActor>(self), hears<Peers>(self), hears<TokenChunk>(self),
          hears<atom::tick>(self)};
}

inline SupervisorActor::behavior_type supervisor(Self<SupervisorActor> self) {
  return {answers_status<SupervisorActor>(self), hears<FailureReport>(self),
          hears<atom::tick>(self), hears<atom::respawn, uint8_t, uint32_t>(self),
          hears<atom::stop>(self)};
}

}  // namespace warpsmith::actors::stand_in
