// SPDX-License-Identifier: Apache-2.0
#include "synthesis/pool.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>

namespace warpsmith::synthesis {

namespace {

constexpr double highest_reward = 3;  // milestone
constexpr double lowest_reward = -1;
constexpr double recent_share = 1.0 / 8;  // weight of the newest attempt

}  // namespace

double headroom(const TaskStats& stats) {
  const double earned = stats.attempts == 0 ? lowest_reward : stats.recent_reward;
  return std::max(0.0, highest_reward - earned);
}

std::vector<size_t> shares_of(const std::vector<double>& weights, size_t draws, double offset) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double equal = static_cast<double>(draws) / static_cast<double>(weights.size());
  std::vector<size_t> shares;
  double reached = offset;  // exact draws so far, plus the offset
  for (const double weight : weights) {
    const double before = std::floor(reached);
    reached += sum > 0 ? weight / sum * static_cast<double>(draws) : equal;
    shares.push_back(static_cast<size_t>(std::floor(reached) - before));
  }
  return shares;
}

Pool::Pool(std::vector<Task> tasks, RandomStream stream, Curriculum curriculum)
    : tasks_(std::move(tasks)), stats_(tasks_.size()), stream_(stream), curriculum_(curriculum) {}

void Pool::begin_round() {
  round_.resize(tasks_.size());
  std::iota(round_.begin(), round_.end(), size_t{0});
  if (curriculum_ == Curriculum::headroom) add_by_headroom();
  for (size_t i = round_.size(); i > 1; --i) std::swap(round_[i - 1], round_[stream_.below(i)]);
}

void Pool::add_by_headroom() {
  std::vector<double> weights;
  weights.reserve(stats_.size());
  for (const TaskStats& stats : stats_) weights.push_back(headroom(stats));
  const auto shares = shares_of(weights, tasks_.size(), stream_.uniform());
  for (size_t i = 0; i < shares.size(); ++i) round_.insert(round_.end(), shares[i], i);
}

void Pool::add(Task task) {
  const auto place = static_cast<std::ptrdiff_t>(stream_.below(round_.size() + 1));
  round_.insert(round_.begin() + place, tasks_.size());
  tasks_.push_back(std::move(task));
  stats_.emplace_back();
}

const Task& Pool::next() {
  assert(!tasks_.empty() && "next() of an empty pool");
  if (round_.empty()) begin_round();
  const size_t index = round_.back();
  round_.pop_back();
  return tasks_[index];
}

void Pool::record(const std::string& task_id, double reward) {
  const auto found = std::ranges::find(tasks_, task_id, &Task::id);
  if (found == tasks_.end()) return;
  TaskStats& stats = stats_[static_cast<size_t>(found - tasks_.begin())];
  const double share = stats.attempts == 0 ? 1.0 : recent_share;
  stats.recent_reward += share * (reward - stats.recent_reward);
  ++stats.attempts;
}

}  // namespace warpsmith::synthesis
