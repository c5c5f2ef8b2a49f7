// SPDX-License-Identifier: Apache-2.0
// Decides which clock times a candidate on a GPU: its own events, as long as the verifier's clock
// agrees with them. The events lie in the kernel's context, so device code must gain nothing by
// altering them.
#pragma once

#include <cstdint>

#include "sandbox/judge/verdict_of.hpp"

namespace warpsmith::sandbox {

enum class DeviceClock : uint8_t { events, verifier, neither, disturbed };

/// The median over all blocks. Requires at least one.
double median_of(const Timings& timings, double TimedBlock::* member);

/// The median of the verifier's time less the events' time: at most 1.7 us in 100 verdicts on an
/// H100. Requires a block.
double clock_gap_ms(const Timings& timings);

/// `neither`: the candidate cannot be timed. `disturbed`: the same, but other processes had the
/// core for as long as the clocks differ. Requires a block.
DeviceClock trusted_clock(const Timings& timings);

/// Replaces the candidate's times by the verifier's where the events are not trusted.
Timings by_trusted_clock(Timings timings);

/// The events count up to the first gap, the verifier's clock up to the second, which lies far
/// above that clock's noise. Both gaps are at least `clock_slack_share` of the device's time.
inline constexpr double clock_slack_ms = 0.005;
inline constexpr double clock_limit_ms = 0.05;
inline constexpr double clock_slack_share = 0.03;

}  // namespace warpsmith::sandbox
