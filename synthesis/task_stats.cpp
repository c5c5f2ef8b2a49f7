// SPDX-License-Identifier: Apache-2.0
#include "synthesis/task_stats.hpp"

#include <algorithm>
#include <array>

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

std::string_view to_string(TaskUse use) noexcept {
  constexpr std::array<std::string_view, 3> names{"drawn", "retired", "quarantined"};
  return names[static_cast<size_t>(use)];
}

TaskUse use_of(const TaskStats& stats, const CurriculumConfig& curriculum) {
  if (reached(curriculum.quarantine_after, stats.suspicious)) return TaskUse::quarantined;
  return reached(curriculum.retire_after, stats.solved) ? TaskUse::retired : TaskUse::drawn;
}

}  // namespace warpsmith::synthesis
