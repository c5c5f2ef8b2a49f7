// SPDX-License-Identifier: Apache-2.0
// The tasks of a run and what is known of each; draws the next one.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/random_stream.hpp"
#include "runtime/task.hpp"

namespace warpsmith::synthesis {

/// Per-task statistics, the input of every curriculum.
struct TaskStats {
  uint64_t attempts = 0;
  uint64_t passed = 0;
  double reward_sum = 0;
  double best_speedup = 0;
};

/// Draws in shuffled rounds: within a round every task comes once, so that windows of equal length
/// hold nearly equal mixes. Not thread-safe.
class Pool {
 public:
  Pool(std::vector<Task> tasks, RandomStream stream);

  /// A new task comes up within the round that runs.
  void add(Task task);

  /// Requires a pool that is not empty.
  const Task& next();
  void record(const std::string& task_id, double reward, bool passed, double speedup);

  size_t size() const { return tasks_.size(); }
  const std::vector<Task>& tasks() const { return tasks_; }
  const TaskStats& stats(size_t index) const { return stats_.at(index); }

 private:
  void shuffle_round();

  std::vector<Task> tasks_;
  std::vector<TaskStats> stats_;
  RandomStream stream_;
  std::vector<size_t> round_;  // indices still to come, drawn from the back
};

}  // namespace warpsmith::synthesis
