// SPDX-License-Identifier: Apache-2.0
#include "synthesis/pool.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>

namespace warpsmith::synthesis {
namespace {

constexpr double fastest_reward = 3, correct_reward = 1, lowest_reward = -1;  // milestones
constexpr double clearly_faster = 1.05;   // the milestones' margin over a baseline
constexpr double recent_share = 1.0 / 8;  // weight of the newest attempt

bool is_suspicious(const Outcome& outcome) {
  return outcome.verdict == VerdictClass::too_fast ||
         outcome.verdict == VerdictClass::unstable_timing;
}

bool reached(int64_t bound, uint64_t count) {
  return bound > 0 && count >= static_cast<uint64_t>(bound);
}

}  // namespace

void TaskStats::add(const Outcome& outcome) {
  const double share = attempts == 0 ? 1.0 : recent_share;
  const bool correct = outcome.verdict == VerdictClass::passed;
  recent_reward += share * (outcome.reward - recent_reward);
  recent_correct += share * ((correct ? 1.0 : 0.0) - recent_correct);
  best_speedup = std::max(best_speedup, outcome.speedup_eager.value_or(0));
  solved = outcome.reward >= highest_reward(*this) ? solved + 1 : 0;
  suspicious = is_suspicious(outcome) ? suspicious + 1 : 0;
  ++attempts;
}

double highest_reward(const TaskStats& stats) {
  return stats.most_speedup > clearly_faster ? fastest_reward : correct_reward;
}

double headroom(const TaskStats& stats) {
  const double earned = stats.attempts == 0 ? lowest_reward : stats.recent_reward;
  return std::max(0.0, highest_reward(stats) - earned);
}

double weight_of(const TaskStats& stats, const CurriculumConfig& curriculum) {
  switch (curriculum.rule) {
    case Curriculum::uniform:
      return 0;
    case Curriculum::headroom:
      return headroom(stats);
    case Curriculum::success_band:
      break;
  }
  const bool within = stats.recent_correct >= curriculum.success_low &&
                      stats.recent_correct <= curriculum.success_high;
  return stats.attempts == 0 || within ? 1 : 0;
}

TaskUse use_of(const TaskStats& stats, const CurriculumConfig& curriculum) {
  if (reached(curriculum.quarantine_after, stats.suspicious)) return TaskUse::quarantined;
  return reached(curriculum.retire_after, stats.solved) ? TaskUse::retired : TaskUse::drawn;
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

Pool::Pool(std::vector<Task> tasks, RandomStream stream, CurriculumConfig curriculum)
    : tasks_(std::move(tasks)), stats_(tasks_.size()), stream_(stream), curriculum_(curriculum) {}

std::vector<size_t> Pool::of_use(std::initializer_list<TaskUse> uses) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < stats_.size(); ++i) {
    const TaskUse use = use_of(stats_[i], curriculum_);
    if (std::ranges::find(uses, use) != uses.end()) found.push_back(i);
  }
  return found;
}

void Pool::begin_round() {
  round_ = of_use({TaskUse::drawn});
  if (round_.empty()) round_ = of_use({TaskUse::retired});
  if (round_.empty()) round_ = of_use({TaskUse::quarantined});
  if (curriculum_.rule != Curriculum::uniform) add_by_weight(std::vector{round_});
  for (size_t i = round_.size(); i > 1; --i) std::swap(round_[i - 1], round_[stream_.below(i)]);
}

void Pool::add_by_weight(const std::vector<size_t>& used) {
  std::vector<double> weights;
  weights.reserve(used.size());
  for (const size_t i : used) weights.push_back(weight_of(stats_[i], curriculum_));
  const auto shares = shares_of(weights, used.size(), stream_.uniform());
  for (size_t i = 0; i < shares.size(); ++i) round_.insert(round_.end(), shares[i], used[i]);
}

void Pool::add(Task task, double most_speedup) {
  const auto place = static_cast<std::ptrdiff_t>(stream_.below(round_.size() + 1));
  round_.insert(round_.begin() + place, tasks_.size());
  tasks_.push_back(std::move(task));
  stats_.push_back({.most_speedup = most_speedup});
}

size_t Pool::count(TaskUse use) const {
  return of_use({use}).size();
}

uint64_t Pool::left_of(const Task& task) const {
  const auto found = limits_->find(task.id);
  return found == limits_->end() ? 0 : found->second;
}

bool Pool::exhausted() const {
  return limits_ && std::ranges::all_of(tasks_, [&](const Task& t) { return left_of(t) == 0; });
}

bool Pool::spend(const Task& task) {
  if (!limits_) return true;
  if (left_of(task) == 0) return false;
  --limits_->at(task.id);
  return true;
}

const Task& Pool::next() {
  assert(!tasks_.empty() && "next() of an empty pool");
  assert(!exhausted() && "next() of an exhausted pool");
  while (true) {
    const Task& task = draw();
    if (spend(task)) return task;
  }
}

const Task& Pool::draw() {
  if (round_.empty()) begin_round();
  const size_t index = round_.back();
  round_.pop_back();
  return tasks_[index];
}

std::optional<TaskUse> Pool::record(const std::string& task_id, const Outcome& outcome) {
  const auto found = std::ranges::find(tasks_, task_id, &Task::id);
  if (found == tasks_.end()) return std::nullopt;
  const auto index = static_cast<size_t>(found - tasks_.begin());
  const TaskUse before = use_of(stats_[index], curriculum_);
  stats_[index].add(outcome);
  const TaskUse now = use_of(stats_[index], curriculum_);
  if (now == before) return std::nullopt;
  if (now != TaskUse::drawn) std::erase(round_, index);
  return now;
}

}  // namespace warpsmith::synthesis
