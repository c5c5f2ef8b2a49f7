// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/decision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/median.hpp"
#include "runtime/text.hpp"
#include "sandbox/timing/speedup.hpp"

namespace warpsmith::sandbox {
namespace {

// An interval wider than this, relative to its middle, is inconclusive unless all of it lies below
// `far_slower`.
constexpr double widest_interval = 0.6;

// The events count up to the first gap, the verifier's clock up to the second, which lies far above
// that clock's noise. Both gaps are at least `clock_slack_share` of the device's time.
constexpr double clock_slack_ms = 0.005;
constexpr double clock_limit_ms = 0.05;
constexpr double clock_slack_share = 0.03;

/// `decision` with a failing outcome; the feedback begins with its name.
Decision failing(Decision decision, VerdictClass outcome, const std::string& why) {
  decision.outcome = outcome;
  decision.feedback = std::string(to_string(outcome)) + ": " + why;
  return decision;
}

std::string shape_text(const TaskSignature& signature) {
  std::string text;
  for (size_t i = 0; i < signature.dims.size(); ++i) {
    text += fmt::format("{}{}={}", i == 0 ? "" : " ", signature.dim_names[i], signature.dims[i]);
  }
  return text;
}

std::string place(size_t index, const VerifiedSet& set) {
  return fmt::format("set {} ({})", index + 1, to_string(set.distribution));
}

std::string error_text(const ErrorStats& errors) {
  return "error " + brief_text(errors.worst) + " times the bound";
}

/// A kernel on a CPU has no device: its process crashed.
Decision faulty(const Fault& fault, const std::string& why, bool on_device) {
  Decision decision = failing({}, fault.outcome, why);
  if (fault.outcome == VerdictClass::device_fault && !on_device) {
    decision.feedback = std::string(crash_words) + ": " + why;
  }
  return decision;
}

/// How many elements differ, the first of them, and what is likely. Never a value: it would reveal
/// what the judge expects.
std::string report_text(const WrongReport& report) {
  const std::string cause = report.cause.text;
  return fmt::format("; {} of {} elements differ, the first is {}{}", report.wrong, report.elements,
                     report.element, cause.empty() ? "" : "; likely: " + cause);
}

/// Splits the elements of class `nonfinite`.
std::string nonfinite_text(const std::optional<WrongReport>& report) {
  const std::string counts = report ? counts_text(report->nonfinite) : "";
  if (counts.empty()) {
    return "elements are not finite or not written, or finite where the reference is not";
  }
  return report->partial ? counts + " among the first elements" : counts;
}

/// The failing class of outputs that were compared, if any.
std::optional<Decision> failure_of(const ErrorStats& errors,
                                   const std::optional<WrongReport>& report,
                                   const std::string& where) {
  if (errors.right()) return std::nullopt;
  const std::string more = report ? report_text(*report) : "";
  if (errors.nonfinite > 0) {
    return failing({}, VerdictClass::nonfinite, where + ": " + nonfinite_text(report) + more);
  }
  const uint64_t unwritten = report && !report->partial ? report->nonfinite.unwritten : 0;
  const std::string missing = unwritten > 0 ? fmt::format("{} not written, ", unwritten) : "";
  return failing({}, VerdictClass::wrong, where + ": " + missing + error_text(errors) + more);
}

/// The failing class of one verified set, if any.
std::optional<Decision> failure_of(size_t index, const VerifiedSet& set, bool on_device) {
  const std::string where = place(index, set);
  if (set.fault) return faulty(*set.fault, where + ": " + set.fault->detail, on_device);
  if (set.inputs_changed)
    return failing({}, VerdictClass::input_mutated, where + ": an input changed");
  if (set.guards_changed) {
    return failing({}, VerdictClass::oob_write, where + ": wrote outside the outputs");
  }
  return failure_of(set.errors, set.report, where);
}

std::optional<Decision> failure_of(const Timings& timings, bool on_device) {
  if (timings.fault) {
    return faulty(*timings.fault, "timed call: " + timings.fault->detail, on_device);
  }
  if (timings.guards_changed) {
    return failing({}, VerdictClass::oob_write, "timed call: wrote outside the outputs");
  }
  return failure_of(timings.errors, timings.report, "timed call");
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
  result.speedup_interval = widened(over, timed.scatter);
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

/// False if the blocks vary too much for a comparison with eager or torch.compile. Further
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
  shape.speedup_eager_interval = widened(over_eager, timings.eager_scatter);
  shape.speedup_compile = over_compiled.ratio;
  shape.speedup_compile_interval = widened(over_compiled, timings.compile_scatter);
  for (const FurtherTimed& timed : timings.further) {
    shape.further.push_back(further_result(timed, timings.blocks, candidate, random));
  }
  return std::max(relative_width(over_eager.interval), relative_width(over_compiled.interval)) <=
             widest_interval ||
         std::max(over_eager.interval.high, over_compiled.interval.high) < far_slower;
}

void drop_compile(ShapeResult& shape) {
  shape.compile_ms = shape.speedup_compile = std::nullopt;
  shape.speedup_compile_interval = std::nullopt;
}

/// Whether the baselines' times show that this machine can be timed.
bool baselines_agree(const Timings& timings, RandomStream& random) {
  const auto eager = column(timings.blocks, &TimedBlock::eager_ms);
  const auto compiled = column(timings.blocks, &TimedBlock::compile_ms);
  return relative_width(paired_speedup(eager, compiled, random).interval) <= widest_interval;
}

/// A line with the further baselines that were timed.
std::string further_text(const ShapeResult& shape, int decimals) {
  std::string text;
  for (const FurtherResult& one : shape.further) {
    if (!one.ms) continue;
    text += fmt::format("{}{} {:.{}f} ms", text.empty() ? "\nother baselines: " : ", ", one.name,
                        *one.ms, decimals);
  }
  return text;
}

/// Four decimals for short times: two would hide differences of 5 %.
std::string timed_text(const ShapeResult& shape, bool on_device) {
  const int decimals = on_device || *shape.candidate_ms < 0.1 ? 4 : 2;
  const std::string compiled =
      shape.compile_ms ? fmt::format(", compile {:.{}f} ms", *shape.compile_ms, decimals) : "";
  return fmt::format(
      "passed: candidate {0:.{2}f} ms, eager {1:.{2}f} ms{3}; {4:.1f} GB/s, {5:.1f} GFLOP/s{6}",
      *shape.candidate_ms, *shape.eager_ms, decimals, compiled, shape.gbytes_per_s.value_or(0),
      shape.gflops_per_s.value_or(0), further_text(shape, decimals));
}

/// The name of a baseline with no measurable time, else empty. Ingest accepted the task, so it
/// takes time.
std::string unmeasured(const Timings& timings) {
  if (median_of(timings, &TimedBlock::eager_ms) <= timings.grain_ms) return "eager";
  const double compiled = median_of(timings, &TimedBlock::compile_ms);
  return compiled <= timings.grain_ms ? "torch.compile" : "";
}

/// Adds the times, which there must be, to `decision`, which must have passed.
Decision decide_timed(Decision decision, const Measurements& all, const TaskFacts& facts,
                      RandomStream& random) {
  const Timings& measured = *all.timings;
  if (auto failure = failure_of(measured, all.on_device)) {
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
                   "other processes ran on this slot's core; give the slot its own core");
  }
  const Timings timings =
      measured.on_device ? by_trusted_clock(measured) : by_undisturbed(measured);
  if (const std::string baseline = unmeasured(timings); !baseline.empty()) {
    return failing(decision, VerdictClass::unstable_timing,
                   baseline + " took no longer than an empty call");
  }
  const bool stable = put_times(decision.shape, timings, random);
  if (!facts.compile_reason.empty()) drop_compile(decision.shape);
  put_rates(decision.shape, facts);
  const double candidate = median_of(timings, &TimedBlock::candidate_ms);
  // Calls take time. So far below zero the empty call was disturbed, not this one.
  if (!timings.on_device && candidate < -(timings.grain_ms + facts.floor_ms)) {
    return failing(decision, VerdictClass::unstable_timing,
                   "the candidate took less time than an empty call");
  }
  if (candidate + timings.grain_ms < facts.floor_ms) {
    return failing(
        decision, VerdictClass::too_fast,
        fmt::format("{:.4f} ms is below the floor of {:.4f} ms", candidate, facts.floor_ms));
  }
  decision.feedback = timed_text(decision.shape, timings.on_device);
  if (stable) return decision;
  if (baselines_agree(timings, random)) decision.feedback_if_still_unstable = decision.feedback;
  return failing(decision, VerdictClass::unstable_timing, "the interval is too wide");
}

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

StrictResult strict_result(const Measurements& measured) {
  if (measured.strict_sets.empty()) return {.why = "not judged"};
  for (size_t i = 0; i < measured.strict_sets.size(); ++i) {
    auto failure = failure_of(i, measured.strict_sets[i], measured.on_device);
    if (failure) return {.why = std::move(failure->feedback)};
  }
  return {.passed = true};
}

Decision decide(const Measurements& measured, const TaskFacts& facts, int wanted_sets,
                RandomStream& random) {
  Decision decision;
  decision.shape.shape = shape_text(facts.signature);
  if (measured.early) {
    Decision failed = faulty(*measured.early, measured.early->detail, measured.on_device);
    failed.shape = decision.shape;
    return failed;
  }
  double worst = 0;
  for (size_t i = 0; i < measured.sets.size(); ++i) {
    const VerifiedSet& set = measured.sets[i];
    if (!set.fault) worst = std::max(worst, set.errors.worst);
    decision.shape.worst_error = worst;
    if (auto failure = failure_of(i, set, measured.on_device)) {
      failure->shape = decision.shape;
      return *failure;
    }
  }
  if (static_cast<int>(measured.sets.size()) < wanted_sets) {
    return failing(decision, VerdictClass::wrong, "not every input set was verified");
  }
  decision.feedback = fmt::format("passed: {} of {} sets, worst error {} of the bound",
                                  measured.sets.size(), wanted_sets, brief_text(worst));
  if (!measured.timings) return decision;
  return decide_timed(std::move(decision), measured, facts, random);
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
  const double limit = std::max(clock_limit_ms, share);
  if (gap <= limit) return DeviceClock::verifier;
  return unexplained_gap_ms(timings) <= limit ? DeviceClock::disturbed : DeviceClock::neither;
}

Timings by_trusted_clock(Timings timings) {
  if (trusted_clock(timings) != DeviceClock::verifier) return timings;
  for (TimedBlock& block : timings.blocks) block.candidate_ms = block.candidate_clock_ms;
  return timings;
}

void weigh_subtracted(StageFacts& stage, ShapeResult& shape) {
  if (!shape.candidate_ms) return;
  // On a CPU no code of the candidate runs during the reveal.
  const double reveal_ms = stage.on_device ? stage.reveal_ms : 0;
  const double moved_ms = reveal_ms + stage.output_copy_ms;
  const double ms = measurable(*shape.candidate_ms);
  stage.share = moved_ms / ms;
  stage.within_share = *stage.share <= most_subtracted_share;
  const double stopped_ms = stage.reveal_ms - reveal_ms;
  const double subtracted_ms = std::max(moved_ms, stage.noop_ms - stopped_ms);
  for (auto* interval : {&shape.speedup_eager_interval, &shape.speedup_compile_interval}) {
    if (*interval) (*interval)->low *= ms / (ms + subtracted_ms);
  }
}

}  // namespace warpsmith::sandbox
