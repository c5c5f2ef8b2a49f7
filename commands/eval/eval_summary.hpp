// SPDX-License-Identifier: Apache-2.0
// Computes the figures of `eval` from judged samples. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace warpsmith::commands {

/// One sample of one task.
struct EvalSample {
  std::string task_id;
  double reward = 0;
  bool passed = false;
  std::optional<double> speedup_eager, speedup_compile;  // lower ends of the intervals
  std::optional<bool> strict;  // of a pass by numerics `paper`: whether `strict` passes it too
};

/// The figures of one task, or of all tasks.
struct EvalFigures {
  size_t samples = 0;
  double pass_rate = 0;
  std::optional<double> strict_pass_rate;  // only by numerics `paper`
  double mean_reward = 0;
  double fast_eager = 0, fast_compile = 0;               // shares that are correct and > 5 % faster
  std::optional<double> geomean_eager, geomean_compile;  // over correct samples
};

struct EvalSummary {
  EvalFigures all;
  double mean_reward_low = 0, mean_reward_high = 0;  // 95 %, bootstrap over samples within tasks
  std::map<std::string, EvalFigures> by_task;
};

EvalFigures figures_of(const std::vector<EvalSample>& samples);

/// `seed` determines the bootstrap's draws (2,000 resamples).
EvalSummary summarize_eval(const std::vector<EvalSample>& samples, uint64_t seed);

/// The median; nullopt of no values.
std::optional<double> median_of(const std::vector<double>& values);

using ValuesByTask = std::map<std::string, std::vector<double>>;

/// What an evaluation is compared by, for each task's samples.
struct EvalOutcomes {
  ValuesByTask rewards;
  ValuesByTask passed;  // 1 or 0; empty in reports without it
};
EvalOutcomes outcomes_of(const std::vector<EvalSample>& samples);

/// How much more one policy earns, or passes, than another on the same tasks.
struct EvalDifference {
  size_t tasks = 0;          // that both have samples of
  double mean = 0;           // mean over tasks of the difference of their means
  double low = 0, high = 0;  // 95 %, bootstrap over tasks, then over samples within each
};

/// `tasks` is 0 if no task is in both. `seed` as above.
EvalDifference paired_difference(const ValuesByTask& before, const ValuesByTask& after,
                                 uint64_t seed);

}  // namespace warpsmith::commands
