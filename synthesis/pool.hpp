// SPDX-License-Identifier: Apache-2.0
// The tasks of a run with statistics of each; draws the next one.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/config/synthesis_config.hpp"
#include "runtime/random_stream.hpp"
#include "runtime/task.hpp"

namespace warpsmith::synthesis {

/// Statistics of one task, the input of every curriculum.
struct TaskStats {
  uint64_t attempts = 0;
  double recent_reward = 0;  // running mean over about the last eight attempts
};

/// The reward that a task may still gain: the highest milestone (3) less its recent reward, never
/// negative. A task without attempts counts as one with the lowest reward (-1).
double headroom(const TaskStats& stats);

/// How many of `draws` each of `weights` gets: its share, rounded up or down. One `offset` in [0,
/// 1) decides all roundings, which keeps counts close to the shares. All zero: equal shares.
std::vector<size_t> shares_of(const std::vector<double>& weights, size_t draws, double offset);

/// Draws in shuffled rounds. `rounds`: a round holds every task once, so that windows of equal
/// length hold nearly equal mixes. `headroom`: a round also holds as many draws again, shared out
/// by headroom; every task comes up within two rounds, hence within 4 n + 2 draws of n tasks.
/// Recorded rewards count from the next round on and are not stored on disk. Not thread-safe.
class Pool {
 public:
  Pool(std::vector<Task> tasks, RandomStream stream, Curriculum curriculum = Curriculum::rounds);

  /// Adds a task, which comes up within the current round.
  void add(Task task);

  /// Draws a task. Requires a pool that is not empty.
  const Task& next();
  /// Counts an attempt; does nothing for an unknown id.
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
  std::vector<size_t> round_;  // indices left in this round, drawn from the back
};

}  // namespace warpsmith::synthesis
