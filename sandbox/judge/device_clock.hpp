// SPDX-License-Identifier: Apache-2.0
// Whose clock a GPU's times are by: its own events, while the verifier's clock agrees with them. A
// kernel's context holds the events, and device code must gain nothing by finding them.
#pragma once

#include <cstdint>

#include "sandbox/judge/verdict_of.hpp"

namespace warpsmith::sandbox {

enum class DeviceClock : uint8_t { events, verifier, neither };

/// Of all blocks. Requires one.
double median_of(const Timings& timings, double TimedBlock::* member);

/// How much longer the verifier's clock saw the candidate at work than the events say, at the
/// median: at most 1.7 us in 100 verdicts on an H100. Requires a block.
double clock_gap_ms(const Timings& timings);

/// `neither`: no times can be told. Requires a block.
DeviceClock trusted_clock(const Timings& timings);

/// With the verifier's times for the candidate where the events are not believed.
Timings by_trusted_clock(Timings timings);

/// Within the first the events are believed; within the second the verifier's clock counts: its
/// own noise must fail nobody. Both are at least `clock_slack_share` of the device's time.
inline constexpr double clock_slack_ms = 0.005;
inline constexpr double clock_limit_ms = 0.05;
inline constexpr double clock_slack_share = 0.03;

}  // namespace warpsmith::sandbox
