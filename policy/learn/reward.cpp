// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/reward.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace warpsmith::policy {
namespace {

constexpr double rejected = -1.0;

/// log(speedup); linear below 1, where the logarithm could fall below `rejected`.
double logarithmic(double speedup) {
  constexpr double slope = 0.9;  // above `rejected` even for a speed-up of 0
  return speedup >= 1 ? std::log(speedup) : slope * (speedup - 1);
}

using Bound = std::optional<Interval> ShapeResult::*;

/// The lowest bound over the timed shapes; empty if one was not measured.
std::optional<double> worst_low(const Verdict& verdict, Bound bound) {
  std::optional<double> low;
  for (const ShapeResult& shape : verdict.shapes) {
    if (shape.hidden) continue;
    if (!(shape.*bound)) return std::nullopt;
    const double its = (shape.*bound)->low;
    low = std::min(low.value_or(its), its);
  }
  return low;
}

double milestone(const Verdict& verdict) {
  const auto eager = worst_low(verdict, &ShapeResult::speedup_eager_interval);
  const auto compiled = worst_low(verdict, &ShapeResult::speedup_compile_interval);
  if (!eager || !clearly_faster(*eager)) return 1.0;
  return compiled && clearly_faster(*compiled) ? 3.0 : 2.0;
}

}  // namespace

double reward_of(const Verdict& verdict, RewardRule rule) {
  if (!verdict.is_rewarded()) return rejected;
  if (rule == RewardRule::milestone) return milestone(verdict);
  const double low = worst_low(verdict, &ShapeResult::speedup_eager_interval).value_or(0.0);
  return rule == RewardRule::speedup ? low : logarithmic(low);
}

}  // namespace warpsmith::policy
