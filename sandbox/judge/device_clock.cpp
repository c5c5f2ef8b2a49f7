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

DeviceClock trusted_clock(const Timings& timings) {
  const double gap = clock_gap_ms(timings);
  const double share = clock_slack_share * median_of(timings, &TimedBlock::candidate_ms);
  if (gap <= std::max(clock_slack_ms, share)) return DeviceClock::events;
  return gap <= std::max(clock_limit_ms, share) ? DeviceClock::verifier : DeviceClock::neither;
}

Timings by_trusted_clock(Timings timings) {
  if (trusted_clock(timings) != DeviceClock::verifier) return timings;
  for (TimedBlock& block : timings.blocks) block.candidate_ms = block.candidate_clock_ms;
  return timings;
}

}  // namespace warpsmith::sandbox
