// SPDX-License-Identifier: Apache-2.0
// The speed-up and its confidence interval from paired ratios of interleaved timings.
#pragma once

#include <span>

#include "runtime/random_stream.hpp"
#include "runtime/verdict.hpp"

namespace warpsmith::sandbox {

struct Speedup {
  double ratio = 0;   // baseline / candidate: the lower of the median ratio and the ratio of totals
  Interval interval;  // 95 %, of `ratio`
};

/// Resamples blocks (percentile bootstrap; Efron 1979) `rounds` times. The interval is stretched by
/// Student's factor because blocks are few. Both spans hold one time per block, in the same order;
/// requires at least one, all positive.
Speedup paired_speedup(std::span<const double> baseline, std::span<const double> candidate,
                       RandomStream& random, int rounds = 2000);

/// Adds the variation that blocks of one evaluation cannot show: `scatter` is the baseline's
/// relative standard deviation between evaluations (reproducibility.hpp).
Interval widened(const Speedup& speedup, double scatter);

}  // namespace warpsmith::sandbox
