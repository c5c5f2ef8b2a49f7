// SPDX-License-Identifier: Apache-2.0
// Turns measurements into the decision of a verdict: the only place that decides, without processes
// and clocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/random_stream.hpp"
#include "runtime/submission.hpp"
#include "runtime/task.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/judge/measurements.hpp"

namespace warpsmith::sandbox {

/// How feedback begins, instead of `device_fault`, for a kernel on a CPU, which has no device.
inline constexpr std::string_view crash_words = "crashed";

/// The part of a verdict that `decide` determines.
struct Decision {
  VerdictClass outcome = VerdictClass::passed;
  std::string feedback;
  ShapeResult shape;
  // Set if the timing is unstable although the baselines' times agree, so the candidate's own vary.
  std::string feedback_if_still_unstable;
  std::optional<StrictResult> strict;  // only by numerics `paper`
};

/// What `strict` found. Sets end at the first that is wrong.
StrictResult strict_result(const Measurements& measured);

/// `wanted_sets`: the number of verified sets that a pass needs. `random` is for the bootstrap.
Decision decide(const Measurements& measured, const TaskFacts& facts, int wanted_sets,
                RandomStream& random);

/// Whether the candidate's own times vary while the baselines' agree. This must not count as a
/// failure of the machine: a slow candidate could provoke it and be judged again.
bool is_candidate_unstable(const Decision& decision);
/// Passes an unstable candidate; the interval's low end is what it has shown.
Decision accept_unstable(Decision decision);

/// The upper end at 97.5 % of the speed-up over eager or torch.compile. Requires a block.
double likely_speedup(const std::vector<TimedBlock>& blocks, RandomStream& random);

/// The times of one further baseline, one per block. Requires a baseline without a reason.
std::vector<double> times_of(Baseline which, const std::vector<TimedBlock>& blocks);

/// A candidate is slower in any case where all of its speed-up's interval lies below this.
inline constexpr double far_slower = 0.5;

/// The clock that times a candidate on a GPU: its own events, as long as the verifier's clock
/// agrees with them. The events lie in the kernel's context, so device code must gain nothing by
/// altering them.
enum class DeviceClock : uint8_t { events, verifier, neither, disturbed };

/// The median over all blocks. Requires at least one.
double median_of(const Timings& timings, double TimedBlock::* member);

/// The median of the verifier's time less the events' time: at most 1.7 us in 100 verdicts on an
/// H100. Requires a block.
double clock_gap_ms(const Timings& timings);

/// `neither`: the candidate cannot be timed. `disturbed`: the same, but other processes had the
/// core for as long as the clocks differ. Requires a block.
DeviceClock trusted_clock(const Timings& timings);

/// Replaces the candidate's times by the verifier's if the events are not trusted.
Timings by_trusted_clock(Timings timings);

/// The time that is subtracted for moving inputs and outputs, which a candidate might save or
/// overlap, must stay below this share of the measured time, or the trust class is lowered.
inline constexpr double most_subtracted_share = 0.03;

/// Sets the share of the candidate's median time that was subtracted, if it was timed, and
/// lowers each speed-up's interval to where it would begin with nothing subtracted, empty call and
/// sample included. A candidate therefore gains nothing by sparing itself that work, or by ringing
/// before its kernels have ended. The reveal on a CPU stays subtracted: the candidate is stopped
/// then.
void weigh_subtracted(StageFacts& stage, ShapeResult& shape);

}  // namespace warpsmith::sandbox
