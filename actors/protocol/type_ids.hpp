// SPDX-License-Identifier: Apache-2.0
// The atoms and the CAF type IDs of the message types. The name on the wire is the type's full
// name, so both ends of a connection must be of one build.
#pragma once

#include <caf/fwd.hpp>
#include <caf/type_id.hpp>
#include <type_traits>

#include "actors/protocol/messages.hpp"
#include "synthesis/composition.hpp"

CAF_BEGIN_TYPE_ID_BLOCK(warpsmith, caf::first_custom_type_id)
CAF_ADD_ATOM(warpsmith, warpsmith::atom, status, "status")
CAF_ADD_ATOM(warpsmith, warpsmith::atom, step, "step")
CAF_ADD_ATOM(warpsmith, warpsmith::atom, tick, "tick")
CAF_ADD_ATOM(warpsmith, warpsmith::atom, stop, "stop")
CAF_ADD_ATOM(warpsmith, warpsmith::atom, drain, "drain")
CAF_ADD_ATOM(warpsmith, warpsmith::atom, respawn, "respawn")
CAF_ADD_ATOM(warpsmith, warpsmith::atom, next_task, "next_task")
CAF_ADD_ATOM(warpsmith, warpsmith::atom, ingest, "ingest")
CAF_ADD_ATOM(warpsmith, warpsmith::atom, admit, "admit")
CAF_ADD_ATOM(warpsmith, warpsmith::atom, counts, "counts")
CAF_ADD_ATOM(warpsmith, warpsmith::atom, pull, "pull")
CAF_ADD_ATOM(warpsmith, warpsmith::atom, subscribe, "subscribe")
CAF_ADD_ATOM(warpsmith, warpsmith::atom, release, "release")
CAF_ADD_ATOM(warpsmith, warpsmith::atom, checkpoint, "checkpoint")
CAF_ADD_ATOM(warpsmith, warpsmith::atom, flush, "flush")
CAF_ADD_ATOM(warpsmith, warpsmith::atom, redeliver, "redeliver")
CAF_ADD_ATOM(warpsmith, warpsmith::atom, snapshot, "snapshot")
CAF_ADD_ATOM(warpsmith, warpsmith::atom, progress, "progress")
CAF_ADD_ATOM(warpsmith, warpsmith::atom, compose, "compose")
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::Task))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::TaskFacts))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::Judgement))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::Segment))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::PolicyVersion))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::synthesis::Composition))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::actors::PreparedTask))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::actors::TaskOutcome))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::actors::GenerateCall))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::actors::TokenChunk))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::actors::ToolCall))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::actors::ToolAnswer))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::actors::EvaluateCall))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::actors::Admission))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::actors::Closed))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::actors::Dropped))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::actors::Judged))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::actors::StepDone))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::actors::LedgerCounts))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::actors::WeightsReady))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::actors::WeightShard))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::actors::ActorStatus))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::actors::FailureReport))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::actors::Observation))
CAF_ADD_TYPE_ID(warpsmith, (warpsmith::actors::Event))
CAF_END_TYPE_ID_BLOCK(warpsmith)

namespace warpsmith::actors {

/// True for the messages that travel as one blob of the codec.
template <class T>
struct IsPacked : std::false_type {};

template <class... Records>
struct PackedList {
  template <class T>
  static constexpr bool holds = (std::is_same_v<T, Records> || ...);
};
using Packed =
    PackedList<Task, TaskFacts, Judgement, Segment, PolicyVersion, synthesis::Composition,
               PreparedTask, TaskOutcome, GenerateCall, TokenChunk, ToolCall, ToolAnswer,
               EvaluateCall, Admission, Closed, Dropped, Judged, StepDone, LedgerCounts,
               WeightsReady, WeightShard, ActorStatus, FailureReport, Observation, Event>;
template <class T>
  requires(Packed::holds<T>)
struct IsPacked<T> : std::true_type {};

}  // namespace warpsmith::actors
