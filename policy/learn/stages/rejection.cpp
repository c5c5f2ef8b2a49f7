// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/stages/rejection.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace warpsmith::policy {
namespace {

std::optional<Rejection> reject_one(const TrajectoryFacts& t, const RftConfig& c, int64_t context) {
  const auto is_invalid = [](const TurnFacts& turn) { return turn.invalid; };
  if (t.reward <= 0) return Rejection::reward;
  if (t.tokens > context) return Rejection::too_long;
  const bool whole = c.invalid_calls == InvalidCalls::trajectory;
  if (whole && std::ranges::any_of(t.turns, is_invalid)) return Rejection::invalid_call;
  if (std::ranges::all_of(t.turns, is_invalid)) return Rejection::no_valid_turn;
  if (!c.repeated_calls && repeats_a_call(t.turns)) return Rejection::repeated_call;
  if (c.stall_turns > 0 && longest_stall(t.turns) >= c.stall_turns) return Rejection::stalled;
  return std::nullopt;
}

/// Rejects what exceeds `per_task`; among equal rewards the earlier trajectory stays.
void limit_tasks(const std::vector<TrajectoryFacts>& trajectories, int64_t per_task,
                 std::vector<std::optional<Rejection>>& out) {
  std::vector<size_t> order(trajectories.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(
      order, [&](size_t a, size_t b) { return trajectories[a].reward > trajectories[b].reward; });
  std::map<std::string, int64_t> kept;
  for (const size_t i : order) {
    if (!out[i] && ++kept[trajectories[i].task_id] > per_task) out[i] = Rejection::over_limit;
  }
}

}  // namespace

bool repeats_a_call(const std::vector<TurnFacts>& turns) {
  std::set<std::pair<std::string, std::map<std::string, std::string>>> seen;
  for (const TurnFacts& turn : turns) {
    for (const auto& [call, edits] : turn.calls) {
      const std::pair key{call.name, call.arguments};
      if (seen.contains(key)) return true;
      if (edits) seen.clear();
      seen.insert(key);
    }
  }
  return false;
}

int64_t longest_stall(const std::vector<TurnFacts>& turns) {
  double best = -std::numeric_limits<double>::infinity();
  int64_t stall = 0;
  int64_t longest = 0;
  for (const TurnFacts& turn : turns) {
    const bool is_better = turn.verdict && *turn.verdict > best;
    if (is_better) best = *turn.verdict;
    stall = is_better ? 0 : stall + 1;
    longest = std::max(longest, stall);
  }
  return longest;
}

std::vector<std::optional<Rejection>> reject(const std::vector<TrajectoryFacts>& trajectories,
                                             const RftConfig& config, int64_t context) {
  std::vector<std::optional<Rejection>> out;
  out.reserve(trajectories.size());
  for (const TrajectoryFacts& one : trajectories) out.push_back(reject_one(one, config, context));
  limit_tasks(trajectories, config.per_task, out);
  return out;
}

}  // namespace warpsmith::policy
