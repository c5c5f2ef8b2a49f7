// SPDX-License-Identifier: Apache-2.0
// What is known of a task from its attempts, and what a curriculum makes of it. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "runtime/config/synthesis_config.hpp"
#include "runtime/trajectory.hpp"

namespace warpsmith::synthesis {

/// Statistics of one task, the input of every curriculum.
struct TaskStats {
  uint64_t attempts = 0;
  double recent_reward = 0;   // running mean over about the last eight attempts
  double recent_correct = 0;  // share of correct ones, likewise
  double best_speedup = 0;    // over eager; 0: none yet
  double most_speedup = std::numeric_limits<double>::infinity();  // over eager: its roofline
  uint64_t solved = 0;      // attempts in a row with the highest reward, up to now
  uint64_t suspicious = 0;  // the same with times that are impossible or decide nothing

  void add(const Outcome& outcome);
};

/// The highest milestone that the roofline allows: 3, or 1 if nothing can be clearly faster.
double highest_reward(const TaskStats& stats);

/// The reward that a task may still gain: the highest one less its recent reward, never negative. A
/// task without attempts counts as one with the lowest reward (-1).
double headroom(const TaskStats& stats);

/// The task's share of a round's additional draws, relative to other tasks; 0 for `uniform`.
double weight_of(const TaskStats& stats, const CurriculumConfig& curriculum);

enum class TaskUse : uint8_t { drawn, retired, quarantined };
std::string_view to_string(TaskUse use) noexcept;
TaskUse use_of(const TaskStats& stats, const CurriculumConfig& curriculum);

}  // namespace warpsmith::synthesis
