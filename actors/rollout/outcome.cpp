// SPDX-License-Identifier: Apache-2.0
#include "actors/rollout/outcome.hpp"

#include <algorithm>

#include "policy/learn/reward.hpp"
#include "runtime/submission.hpp"

namespace warpsmith::actors {
namespace {

using Speedup = std::optional<Interval> ShapeResult::*;

/// Lowest lower end over the timed shapes; empty if one was not measured or the verdict is not
/// correct.
std::optional<double> worst(const Verdict& verdict, Speedup speedup) {
  if (!verdict.correct()) return std::nullopt;
  std::optional<double> low;
  for (const ShapeResult& shape : verdict.shapes) {
    if (shape.hidden) continue;
    if (!(shape.*speedup)) return std::nullopt;
    const double its = (shape.*speedup)->low;
    low = std::min(low.value_or(its), its);
  }
  return low;
}

}  // namespace

Outcome judged_outcome(const Verdict& verdict, const FileSet& files, RewardRule rule) {
  Outcome outcome;
  outcome.reward = policy::reward_of(verdict, rule);
  outcome.verdict = verdict.outcome;
  outcome.source_hash = source_hash(files);
  outcome.speedup_eager = worst(verdict, &ShapeResult::speedup_eager_interval);
  outcome.speedup_compile = worst(verdict, &ShapeResult::speedup_compile_interval);
  return outcome;
}

double rank_of(const Verdict& verdict) {
  if (!verdict.correct()) return 0;
  return 1 + std::max(worst(verdict, &ShapeResult::speedup_eager_interval).value_or(0), 0.0);
}

BestSubmission better_of(BestSubmission best, const Verdict& newer) {
  const double rank = rank_of(newer);
  if (rank == 0 || rank < best.rank) return best;
  return {newer.submission_hash, rank};
}

Outcome empty_outcome(bool truncated, double penalty) {
  Outcome outcome;
  outcome.reward = truncated ? -1.0 - penalty : -1.0;
  return outcome;
}

}  // namespace warpsmith::actors
