// SPDX-License-Identifier: Apache-2.0
// How much faster, and how sure: paired ratios of interleaved timings.
#pragma once

#include <span>

#include "runtime/random_stream.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::sandbox {

struct Speedup {
  double ratio =
      0;  // baseline / candidate: the worse of the median of ratios and the ratio of totals
  Interval interval;  // 95 %, of that worse figure
};

/// Resamples blocks (percentile bootstrap; Efron 1979) `rounds` times, and stretches the interval
/// by what so few blocks lack (Student's factor). Both spans hold one time per block, in the same
/// order; requires at least one, all positive.
Speedup paired_speedup(std::span<const double> baseline, std::span<const double> candidate,
                       RandomStream& random, int rounds = 2000);

/// The interval with what blocks of one evaluation cannot show: `scatter`, the baseline's
/// relative standard deviation between evaluations (reproducibility.hpp).
Interval widened(const Speedup& speedup, double scatter);

}  // namespace warpsmith::sandbox
