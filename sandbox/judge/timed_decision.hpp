// SPDX-License-Identifier: Apache-2.0
// What timed calls add to a decision: faults, impossible times, unusable times, and speed-ups.
#pragma once

#include <string>
#include <vector>

#include "sandbox/judge/verdict_of.hpp"

namespace warpsmith::sandbox {

/// Adds the times to `decision`, which must have passed.
Decision decide_timed(Decision decision, const Timings& timings, const TaskFacts& facts,
                      RandomStream& random);

/// `decision` with a failing outcome; the feedback begins with its name.
Decision failing(Decision decision, VerdictClass outcome, const std::string& why);

/// Whether the candidate's own times vary while the baselines' agree. This must not count as a
/// failure of the machine: a slow candidate could provoke it and be judged again.
bool is_candidate_unstable(const Decision& decision);
/// Passes an unstable candidate; the interval's low end is what it has shown.
Decision accept_unstable(Decision decision);

/// The upper end at 97.5 % of the speed-up over eager or torch.compile. Requires a block.
double likely_speedup(const std::vector<TimedBlock>& blocks, RandomStream& random);

/// The times of one further baseline, one per block. Requires a baseline without a reason.
std::vector<double> times_of(Baseline which, const std::vector<TimedBlock>& blocks);

/// An interval wider than this, relative to its middle, is inconclusive …
inline constexpr double widest_interval = 0.6;
/// … unless all of it lies below this speed-up: then the candidate is slower in any case.
inline constexpr double far_slower = 0.5;

}  // namespace warpsmith::sandbox
