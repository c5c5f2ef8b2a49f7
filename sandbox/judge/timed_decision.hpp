// SPDX-License-Identifier: Apache-2.0
// What timed calls add to a decision: faults, times that cannot be, times that tell nothing, and
// speed-ups.
#pragma once

#include <string>
#include <vector>

#include "sandbox/judge/verdict_of.hpp"

namespace warpsmith::sandbox {

/// `decision`, which passed, with the times.
Decision decide_timed(Decision decision, const Timings& timings, const TaskFacts& facts,
                      RandomStream& random);

/// `decision` with a failing outcome, which its feedback names first.
Decision failing(Decision decision, VerdictClass outcome, const std::string& why);

/// Times that differ by the candidate's own doing are no failure of ours, or whoever is slow could
/// spoil its verdict and be asked again: the interval's low end is what it has shown.
bool is_own_doing(const Decision& decision);
Decision settled(Decision decision);

/// The most that the blocks leave likely over eager or torch.compile, at 97.5 %. Requires a block.
double likely_speedup(const std::vector<TimedBlock>& blocks, RandomStream& random);

/// The times of one further baseline, one per block. Requires one that has no reason.
std::vector<double> times_of(Baseline which, const std::vector<TimedBlock>& blocks);

/// An interval wider than this, relative to its middle, decides nothing.
inline constexpr double widest_interval = 0.6;
/// Unless all of it lies below this speed-up: however wide, it says that the candidate is slower.
inline constexpr double far_slower = 0.5;

}  // namespace warpsmith::sandbox
