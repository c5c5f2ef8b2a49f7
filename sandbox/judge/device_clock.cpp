// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/device_clock.hpp"

#include <algorithm>
#include <vector>

#include "runtime/median.hpp"

namespace warpsmith::sandbox {

double median_of(const Timings& timings, double TimedBlock::* member) {
  std::vector<double> values;
  values.reserve(timings.blocks.size());
  for (const TimedBlock& block : timings.blocks) values.push_back(block.*member);
  return median(values);
}

double clock_gap_ms(const Timings& timings) {
  return median_of(timings, &TimedBlock::candidate_clock_ms) -
         median_of(timings, &TimedBlock::candidate_ms);
}

namespace {

/// The median gap that waiting for the core does not explain.
double unexplained_gap_ms(const Timings& timings) {
  std::vector<double> gaps;
  gaps.reserve(timings.blocks.size());
  for (const TimedBlock& block : timings.blocks) {
    gaps.push_back(block.candidate_clock_ms - block.candidate_ms - block.candidate_waited_ms);
  }
  return median(gaps);
}

}  // namespace

DeviceClock trusted_clock(const Timings& timings) {
  const double gap = clock_gap_ms(timings);
  const double share = clock_slack_share * median_of(timings, &TimedBlock::candidate_ms);
  if (gap <= std::max(clock_slack_ms, share)) return DeviceClock::events;
  const double limit = std::max(clock_limit_ms, share);
  if (gap <= limit) return DeviceClock::verifier;
  return unexplained_gap_ms(timings) <= limit ? DeviceClock::disturbed : DeviceClock::neither;
}

Timings by_trusted_clock(Timings timings) {
  if (trusted_clock(timings) != DeviceClock::verifier) return timings;
  for (TimedBlock& block : timings.blocks) block.candidate_ms = block.candidate_clock_ms;
  return timings;
}

}  // namespace warpsmith::sandbox
