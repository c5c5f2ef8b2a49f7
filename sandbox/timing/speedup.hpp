// SPDX-License-Identifier: Apache-2.0
// The speed-up over a baseline: its confidence interval from interleaved timings of one evaluation,
// and how much times differ between evaluations.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <unordered_map>

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
/// relative standard deviation between evaluations (`Reproducibility`).
Interval widened(const Speedup& speedup, double scatter);

/// Blocks of one evaluation lie within a tenth of a second. Between evaluations the machine
/// changes: neighbours' use of memory, page placement, clock rates. More blocks cannot show that
/// (Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013: repeat at the
/// highest level that varies). But each evaluation also times a baseline, whose true time is
/// constant. Its change from one evaluation of a task to the next estimates how much ratios to it
/// vary. (On two virtual machines ratios and eager's time both varied by 5 to 8 %; the ratio of the
/// two baselines, which share a process, by 2 to 4 %.)
///
/// For one baseline: pools a slot's evaluations over all its tasks; the weight of old ones fades.
class Reproducibility {
 public:
  /// The baseline's median in one evaluation of `task`; any unit, more than 0.
  void add(const std::string& task, double time);

  /// Relative standard deviation between evaluations; `expected` until there is data.
  double scatter() const;

  static constexpr double expected = 0.04;

 private:
  static constexpr double expected_weight = 8;  // weight of `expected`, in evaluations
  static constexpr double fading = 0.97;        // of older evaluations' weights, at each new one
  static constexpr size_t most_tasks = 4096;

  static constexpr double most_step = 0.3;  // of a logarithm: limits a single disturbance

  std::unordered_map<std::string, double> last_;  // logarithm of the time
  double squares_ = 0, weight_ = 0;
};

}  // namespace warpsmith::sandbox
