// SPDX-License-Identifier: Apache-2.0
// Pure: the tasks of a run, the statistics of each task's attempts, and the curriculum that draws
// the next task by them.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/config/synthesis_config.hpp"
#include "runtime/describe.hpp"
#include "runtime/random_stream.hpp"
#include "runtime/task.hpp"
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
constexpr auto names_of(TaskUse) {
  return std::to_array<std::string_view>({"drawn", "retired", "quarantined"});
}
TaskUse use_of(const TaskStats& stats, const CurriculumConfig& curriculum);

/// How many of `draws` each of `weights` gets: its share, rounded up or down. One `offset` in [0,
/// 1) decides all roundings, which keeps counts close to the shares. All zero: equal shares.
std::vector<size_t> shares_of(const std::vector<double>& weights, size_t draws, double offset);

/// By task, how often it may still be drawn.
using DrawLimits = std::map<std::string, uint64_t>;

/// Draws in shuffled rounds. A round contains every task in use once, so that windows of equal
/// length contain nearly equal mixes. Rules other than `uniform` add as many draws again, shared
/// out by weight; every task in use comes up within two rounds, hence within 4 n + 2 draws of n
/// tasks. Tasks that are retired or quarantined are left out, unless no other is left. Recorded
/// outcomes count from the next round on and are not stored on disk. Not thread-safe.
class Pool {
 public:
  Pool(std::vector<Task> tasks, RandomStream stream, CurriculumConfig curriculum = {});

  /// Adds a task, which comes up within the current round. `most_speedup`: see TaskStats.
  void add(Task task, double most_speedup = std::numeric_limits<double>::infinity());

  /// Limits how often each task is drawn; tasks that are not named are not drawn. Call before the
  /// first draw.
  void limit(DrawLimits limits) { limits_ = std::move(limits); }
  /// True if every task in the pool has reached its limit of draws.
  bool exhausted() const;
  /// Draws a task. Requires a pool that is neither empty nor exhausted.
  const Task& next();
  /// Counts an attempt; returns the task's use if it changed. Does nothing for an unknown id.
  std::optional<TaskUse> record(const std::string& task_id, const Outcome& outcome);
  /// The number of tasks of that use.
  size_t count(TaskUse use) const;

  size_t size() const { return tasks_.size(); }
  const std::vector<Task>& tasks() const { return tasks_; }
  const TaskStats& stats(size_t index) const { return stats_.at(index); }

 private:
  const Task& draw();
  /// Counts a draw; false if the task's limit is reached.
  bool spend(const Task& task);
  uint64_t left_of(const Task& task) const;
  void begin_round();
  void add_by_weight(const std::vector<size_t>& used);
  std::vector<size_t> of_use(std::initializer_list<TaskUse> uses) const;

  std::vector<Task> tasks_;
  std::vector<TaskStats> stats_;
  RandomStream stream_;
  CurriculumConfig curriculum_;
  std::optional<DrawLimits> limits_;
  std::vector<size_t> round_;  // indices left in this round, drawn from the back
};

}  // namespace warpsmith::synthesis
