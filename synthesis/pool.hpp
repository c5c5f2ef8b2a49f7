// SPDX-License-Identifier: Apache-2.0
// The tasks of a run and what is known of each; draws the next one.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/config/synthesis_config.hpp"
#include "runtime/random_stream.hpp"
#include "runtime/task.hpp"

namespace warpsmith::synthesis {

/// Per-task statistics, the input of every curriculum.
struct TaskStats {
  uint64_t attempts = 0;
  double recent_reward = 0;  // mean that mostly holds the last eight attempts
};

/// What a task may still earn: the highest milestone (3) less its recent reward, never negative. A
/// task that nobody tried yet counts as one that earned the least (-1).
double headroom(const TaskStats& stats);

/// How often each of `weights` comes among `draws`: its share of them, rounded up or down by one
/// `offset` in [0, 1) for all, so that little is left to chance. Equal shares where all are zero.
std::vector<size_t> shares_of(const std::vector<double>& weights, size_t draws, double offset);

/// Draws in shuffled rounds. `rounds`: a round holds every task once, so that windows of equal
/// length hold nearly equal mixes. `headroom`: it also holds as many tasks again, shared out by
/// headroom; a task comes up within two rounds, hence within 4 n + 2 draws of n tasks. What
/// is recorded counts from the next round on, and is forgotten with the pool. Not thread-safe.
class Pool {
 public:
  Pool(std::vector<Task> tasks, RandomStream stream, Curriculum curriculum = Curriculum::rounds);

  /// A new task comes up within the round that runs.
  void add(Task task);

  /// Requires a pool that is not empty.
  const Task& next();
  void record(const std::string& task_id, double reward);

  size_t size() const { return tasks_.size(); }
  const std::vector<Task>& tasks() const { return tasks_; }
  const TaskStats& stats(size_t index) const { return stats_.at(index); }

 private:
  void begin_round();
  void add_by_headroom();

  std::vector<Task> tasks_;
  std::vector<TaskStats> stats_;
  RandomStream stream_;
  Curriculum curriculum_;
  std::vector<size_t> round_;  // indices still to come, drawn from the back
};

}  // namespace warpsmith::synthesis
