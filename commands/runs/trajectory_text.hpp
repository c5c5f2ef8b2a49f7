// SPDX-License-Identifier: Apache-2.0
// Recorded trajectories as text for people: a list of some, and the transcript of one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "actors/run/model_text.hpp"
#include "runtime/run/run_queries.hpp"

namespace warpsmith::commands {
using namespace actors;

/// Which trajectories to list, and in which order.
struct TrajectorySelection {
  enum class Order : uint8_t { admission, best, worst } order = Order::admission;
  std::string task;   // its id; empty: all
  size_t limit = 20;  // best and worst: the first; by admission: the newest
};

/// The rows of that selection. Equal rewards stay in order of admission. Pure.
std::vector<TrajectoryRow> selected(std::vector<TrajectoryRow> rows,
                                    const TrajectorySelection& selection);

/// A heading and a line per trajectory. Pure.
std::string list_text(std::span<const TrajectoryRow> rows);

/// One trajectory turn by turn: what the model was given, what it sampled, the verdicts, the
/// outcome.
std::string transcript(const Trajectory& trajectory, std::span<const VerdictRow> verdicts,
                       const TextModel& text);

}  // namespace warpsmith::commands
