// SPDX-License-Identifier: Apache-2.0
// What the turns of a recorded trajectory did.
#pragma once

#include <span>

#include "actors/run/model_text.hpp"
#include "policy/learn/stages/rejection.hpp"
#include "runtime/run/run_database.hpp"
#include "runtime/trajectory.hpp"

namespace warpsmith::actors {

/// The sampled text of a turn, without the token that ended it.
struct TurnText {
  std::string text;
  bool whole = false;  // a token ended it; else a limit cut it
};
TurnText turn_text(const Segment& segment, const TextModel& text);

/// Reads turns as the rollout did, with the tools that the agent had.
policy::TrajectoryFacts facts_of(const Trajectory& trajectory, std::span<const VerdictRow> verdicts,
                                 const TextModel& text);

}  // namespace warpsmith::actors
