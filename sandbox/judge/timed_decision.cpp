// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/timed_decision.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/median.hpp"
#include "sandbox/judge/device_clock.hpp"
#include "sandbox/judge/number_text.hpp"
#include "sandbox/timing/bootstrap.hpp"

namespace warpsmith::sandbox {
namespace {

std::optional<Decision> failure_of(const Timings& timings) {
  if (timings.fault)
    return failing({}, timings.fault->outcome, "timed call: " + timings.fault->detail);
  if (timings.guards_changed) {
    return failing({}, VerdictClass::oob_write, "timed call: wrote outside the outputs");
  }
  if (timings.errors.nonfinite > 0) {
    return failing({}, VerdictClass::nonfinite,
                   "timed call: elements are not finite or not written");
  }
  if (!timings.errors.right()) {
    return failing({}, VerdictClass::wrong,
                   "timed call: error " + brief(timings.errors.worst) + " times the bound");
  }
  return std::nullopt;
}

Timings by_undisturbed(Timings timings) {
  if (!timings.undisturbed) return timings;
  const Undisturbed& alone = *timings.undisturbed;
  for (TimedBlock& block : timings.blocks) {
    block.eager_ms = std::min(block.eager_ms, (1 + alone.slack) * alone.eager_ms);
    block.compile_ms = std::min(block.compile_ms, (1 + alone.slack) * alone.compile_ms);
  }
  return timings;
}

std::vector<double> column(const std::vector<TimedBlock>& blocks, double TimedBlock::* member,
                           double grain_ms = 0) {
  std::vector<double> values;
  values.reserve(blocks.size());
  for (const TimedBlock& block : blocks) values.push_back(measurable(block.*member, grain_ms));
  return values;
}

FurtherResult further_result(const FurtherTimed& timed, const std::vector<TimedBlock>& blocks,
                             const std::vector<double>& candidate, RandomStream& random) {
  FurtherResult result{.name = std::string(to_string(timed.which)), .reason = timed.reason};
  if (!timed.reason.empty()) return result;
  const auto times = times_of(timed.which, blocks);
  const Speedup over = paired_speedup(times, candidate, random);
  result.ms = median(times);
  result.speedup = over.ratio;
  result.speedup_ci = widened(over, timed.scatter);
  return result;
}

/// The width that the blocks themselves show, before widening.
double relative_width(const Interval& interval) {
  const double middle = 0.5 * (interval.low + interval.high);
  return middle > 0 ? (interval.high - interval.low) / middle : HUGE_VAL;
}

void put_rates(ShapeResult& shape, const TaskFacts& facts) {
  const double ms = *shape.candidate_ms;
  if (facts.bytes_moved > 0) shape.gbytes_per_s = facts.bytes_moved / ms / 1e6;
  if (facts.flops > 0) shape.gflops_per_s = facts.flops / ms / 1e6;
  shape.roofline_ms = facts.roofline_ms;
}

/// False where the blocks vary too much for a comparison with eager or torch.compile. Further
/// baselines have no influence.
bool put_times(ShapeResult& shape, const Timings& timings, RandomStream& random) {
  const auto candidate = column(timings.blocks, &TimedBlock::candidate_ms, timings.grain_ms);
  const auto eager = column(timings.blocks, &TimedBlock::eager_ms);
  const auto compiled = column(timings.blocks, &TimedBlock::compile_ms);
  shape.candidate_ms = median(candidate);
  shape.eager_ms = median(eager);
  shape.compile_ms = median(compiled);
  const Speedup over_eager = paired_speedup(eager, candidate, random);
  const Speedup over_compiled = paired_speedup(compiled, candidate, random);
  shape.speedup_eager = over_eager.ratio;
  shape.speedup_eager_ci = widened(over_eager, timings.eager_scatter);
  shape.speedup_compile = over_compiled.ratio;
  shape.speedup_compile_ci = widened(over_compiled, timings.compile_scatter);
  for (const FurtherTimed& timed : timings.further) {
    shape.further.push_back(further_result(timed, timings.blocks, candidate, random));
  }
  return std::max(relative_width(over_eager.interval), relative_width(over_compiled.interval)) <=
             widest_interval ||
         std::max(over_eager.interval.high, over_compiled.interval.high) < far_slower;
}

/// Whether the baselines' times show that this machine can be timed.
bool baselines_agree(const Timings& timings, RandomStream& random) {
  const auto eager = column(timings.blocks, &TimedBlock::eager_ms);
  const auto compiled = column(timings.blocks, &TimedBlock::compile_ms);
  return relative_width(paired_speedup(eager, compiled, random).interval) <= widest_interval;
}

/// A line with the further baselines that were timed.
std::string further_text(const ShapeResult& shape, const char* format) {
  std::string text;
  for (const FurtherResult& one : shape.further) {
    if (!one.ms) continue;
    text += (text.empty() ? "\nbeside: " : ", ") + one.name + ' ' + number(format, *one.ms) + " ms";
  }
  return text;
}

/// Four decimals for short times: two would hide differences of 5 %.
std::string timed_text(const ShapeResult& shape, bool on_device) {
  const char* format = on_device || *shape.candidate_ms < 0.1 ? "%.4f" : "%.2f";
  return "passed: candidate " + number(format, *shape.candidate_ms) + " ms, eager " +
         number(format, *shape.eager_ms) + " ms, compile " + number(format, *shape.compile_ms) +
         " ms; " + number("%.1f", shape.gbytes_per_s.value_or(0)) + " GB/s, " +
         number("%.1f", shape.gflops_per_s.value_or(0)) + " GFLOP/s" + further_text(shape, format);
}

/// The name of a baseline with no measurable time, else empty. Ingest accepted the task, so it
/// takes time.
std::string unmeasured(const Timings& timings) {
  if (median_of(timings, &TimedBlock::eager_ms) <= timings.grain_ms) return "eager";
  const double compiled = median_of(timings, &TimedBlock::compile_ms);
  return compiled <= timings.grain_ms ? "torch.compile" : "";
}

}  // namespace

Decision failing(Decision decision, VerdictClass outcome, const std::string& why) {
  decision.outcome = outcome;
  decision.feedback = std::string(to_string(outcome)) + ": " + why;
  return decision;
}

Decision decide_timed(Decision decision, const Timings& measured, const TaskFacts& facts,
                      RandomStream& random) {
  if (auto failure = failure_of(measured)) {
    failure->shape = decision.shape;
    return *failure;
  }
  if (measured.blocks.empty()) {
    return failing(decision, VerdictClass::unstable_timing, "no samples");
  }
  const DeviceClock clock = measured.on_device ? trusted_clock(measured) : DeviceClock::events;
  if (clock == DeviceClock::neither) {
    return failing(decision, VerdictClass::too_fast,
                   "the device's events and the verifier's clock differ");
  }
  if (clock == DeviceClock::disturbed) {
    return failing(decision, VerdictClass::unstable_timing,
                   "other processes ran on this slot's core; give the slot a core of its own");
  }
  const Timings timings =
      measured.on_device ? by_trusted_clock(measured) : by_undisturbed(measured);
  if (const std::string baseline = unmeasured(timings); !baseline.empty()) {
    return failing(decision, VerdictClass::unstable_timing,
                   baseline + " took no longer than an empty call");
  }
  const bool stable = put_times(decision.shape, timings, random);
  put_rates(decision.shape, facts);
  const double candidate = median_of(timings, &TimedBlock::candidate_ms);
  // Calls take time. So far below zero the empty call was disturbed, not this one.
  if (!timings.on_device && candidate < -(timings.grain_ms + facts.floor_ms)) {
    return failing(decision, VerdictClass::unstable_timing,
                   "the candidate took less time than an empty call");
  }
  if (candidate + timings.grain_ms < facts.floor_ms) {
    return failing(decision, VerdictClass::too_fast,
                   number("%.4f", candidate) + " ms is below the floor of " +
                       number("%.4f", facts.floor_ms) + " ms");
  }
  decision.feedback = timed_text(decision.shape, timings.on_device);
  if (stable) return decision;
  if (baselines_agree(timings, random)) decision.feedback_if_still_unstable = decision.feedback;
  return failing(decision, VerdictClass::unstable_timing, "the interval is too wide");
}

bool is_candidate_unstable(const Decision& decision) {
  return decision.outcome == VerdictClass::unstable_timing &&
         !decision.feedback_if_still_unstable.empty();
}

Decision accept_unstable(Decision decision) {
  decision.outcome = VerdictClass::passed;
  decision.feedback = std::move(decision.feedback_if_still_unstable);
  return decision;
}

double likely_speedup(const std::vector<TimedBlock>& blocks, RandomStream& random) {
  const auto candidate = column(blocks, &TimedBlock::candidate_ms);
  const auto high = [&](double TimedBlock::* baseline) {
    return paired_speedup(column(blocks, baseline), candidate, random).interval.high;
  };
  return std::max(high(&TimedBlock::eager_ms), high(&TimedBlock::compile_ms));
}

std::vector<double> times_of(Baseline which, const std::vector<TimedBlock>& blocks) {
  std::vector<double> values;
  values.reserve(blocks.size());
  for (const TimedBlock& block : blocks) {
    values.push_back(measurable(block.further_ms.at(which)));
  }
  return values;
}

}  // namespace warpsmith::sandbox
