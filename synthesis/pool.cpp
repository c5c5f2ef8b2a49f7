// SPDX-License-Identifier: Apache-2.0
#include "synthesis/pool.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace warpsmith::synthesis {

Pool::Pool(std::vector<Task> tasks, RandomStream stream)
    : tasks_(std::move(tasks)), stats_(tasks_.size()), stream_(stream) {}

void Pool::shuffle_round() {
  round_.resize(tasks_.size());
  std::iota(round_.begin(), round_.end(), size_t{0});
  for (size_t i = round_.size(); i > 1; --i) std::swap(round_[i - 1], round_[stream_.below(i)]);
}

void Pool::add(Task task) {
  const auto place = static_cast<std::ptrdiff_t>(stream_.below(round_.size() + 1));
  round_.insert(round_.begin() + place, tasks_.size());
  tasks_.push_back(std::move(task));
  stats_.emplace_back();
}

const Task& Pool::next() {
  assert(!tasks_.empty() && "a pool without tasks was asked for one");
  if (round_.empty()) shuffle_round();
  const size_t index = round_.back();
  round_.pop_back();
  return tasks_[index];
}

void Pool::record(const std::string& task_id, double reward, bool passed, double speedup) {
  const auto found = std::ranges::find(tasks_, task_id, &Task::id);
  if (found == tasks_.end()) return;
  TaskStats& stats = stats_[static_cast<size_t>(found - tasks_.begin())];
  ++stats.attempts;
  stats.passed += passed ? 1 : 0;
  stats.reward_sum += reward;
  stats.best_speedup = std::max(stats.best_speedup, speedup);
}

}  // namespace warpsmith::synthesis
