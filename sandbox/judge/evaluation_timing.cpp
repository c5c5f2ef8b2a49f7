// SPDX-License-Identifier: Apache-2.0
// Times the candidate and its baselines in interleaved blocks.
#include "sandbox/judge/device_clock.hpp"
#include "sandbox/judge/evaluation_stay.hpp"
#include "sandbox/judge/further_trials.hpp"
#include "sandbox/judge/parties.hpp"
#include "sandbox/judge/timed_decision.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr double timing_budget_ms = 12;  // for eager's calls; determines the number of blocks
// Limit of the blocks as a multiple of the least number. A GPU's events are steady, and its blocks
// cost mainly processor time between short calls, during which others wait for the GPU.
constexpr int most_times_host = 4, most_times_device = 2;
// Numbers of contents; smaller ones belong to verified sets.
constexpr uint64_t first_undisturbed = 1 << 19, first_timed = 1 << 20;

// Calls of each baseline before the candidate's code is loaded, after one to warm up.
constexpr double undisturbed_budget_ms = 200;
constexpr double least_undisturbed = 2, most_undisturbed = 5;
// A GPU's times drift by a few per cent with its clock rates.
constexpr double device_slack = 0.05;

bool sound(const Timings& timings) {
  return !timings.fault && !timings.guards_changed && timings.errors.right();
}

}  // namespace

OrFailure<void> EvaluationStay::time_undisturbed() {
  const auto clock = phase("timing");
  job_.bench.use_profiles(job_.record.profiles);  // allocates: do it first
  const double wanted = undisturbed_budget_ms / measurable(job_.record.facts.eager_ms);
  const auto calls = static_cast<uint64_t>(std::clamp(wanted, least_undisturbed, most_undisturbed));
  Timings alone;
  for (uint64_t i = 0; i <= calls; ++i) {
    const uint32_t first = next_set(), second = next_set();
    auto done = fill(first, first_undisturbed + i, Distribution::dense, job_.record.rules);
    TimedBlock times;
    if (done) done = time_baseline(Party::eager, first, times);
    if (!done) return done;
    job_.bench.copy_inputs(first, second);
    if (done = time_baseline(Party::compiled, second, times); !done) return done;
    if (i > 0) alone.blocks.push_back(times);
  }
  undisturbed_ = {.eager_ms = median_of(alone, &TimedBlock::eager_ms),
                  .compile_ms = median_of(alone, &TimedBlock::compile_ms),
                  .slack = device_slack};
  return {};
}

OrFailure<void> EvaluationStay::time() {
  const auto clock = phase("timing");
  Timings timings{.on_device = job_.on_device && job_.stage == nullptr,
                  .grain_ms = job_.on_device ? 0 : grain_of_noop * in_ms(candidate_.noop()),
                  .undisturbed = undisturbed_,
                  .no_clocks = job_.no_clocks};
  if (!undisturbed_) job_.bench.use_profiles(job_.record.profiles);
  std::optional<ClockLog> clocks;
  if (job_.clocks != nullptr) clocks.emplace(*job_.clocks);
  if (auto done = time_blocks(timings, clocks ? &*clocks : nullptr); !done) return done;
  if (clocks) timings.clocks = clocks->end();
  for (const Baseline which : further_.wanted()) {
    timings.further.push_back({.which = which, .reason = further_.reason(which)});
  }
  outcome_.measured.timings = std::move(timings);
  return {};
}

OrFailure<void> EvaluationStay::time_blocks(Timings& timings, ClockLog* clocks) {
  const std::vector<Party> parties = parties_with(further_);
  const int times = timings.on_device ? most_times_device : most_times_host;
  const int count = block_count(job_.record.facts.eager_ms, timing_budget_ms, job_.timed_blocks,
                                times * job_.timed_blocks, cycle_of(parties.size()));
  // One uncounted block in front, which is still checked: it warms what verification left cold.
  std::vector<Block> schedule = make_schedule(parties, count, random_);
  schedule.insert(schedule.begin(), schedule.back());
  double spent_ms = 0;
  for (size_t b = 0; b < schedule.size() && sound(timings) && !enough(timings, spent_ms); ++b) {
    if (auto done = time_block(schedule[b], first_timed + b, timings); !done) return done;
    if (!timings.blocks.empty()) spent_ms += timings.blocks.back().candidate_elapsed_ms;
    if (b == 0) timings.blocks.clear();
    if (clocks != nullptr && b == 0) clocks->begin();
    if (clocks != nullptr && b > 0) clocks->block_done();
  }
  if (sound(timings)) timings.guards_changed = !job_.bench.rest_intact();
  return {};
}

/// Long timing keeps others from the GPU, and more blocks would only refine how much slower the
/// candidate is. Stops after whole pairs of mirrored blocks, which cancel drift. The bound is half
/// of the one in `decide`, which draws other samples.
bool EvaluationStay::enough(const Timings& timings, double spent_ms) const {
  const size_t blocks = timings.blocks.size();
  if (spent_ms < in_ms(job_.long_timing) || blocks == 0 || blocks % 2 != 0) return false;
  RandomStream random(job_.seed.seed, "enough");
  return likely_speedup(timings.blocks, random) < far_slower / 2;
}

OrFailure<void> EvaluationStay::time_block(const Block& block, uint64_t number, Timings& timings) {
  TimedBlock times{.order = block};
  uint32_t candidate_set = 0, eager_set = 0;
  // The set of the previous party. Copying takes it out of the caches, so that no set with these
  // contents is cached when the candidate is called.
  std::optional<uint32_t> before;
  for (const Party party : block) {
    if (!present(party)) continue;
    const uint32_t k = next_set();
    if (before) {
      job_.bench.copy_inputs(*before, k);
    } else if (auto filled = fill(k, number, Distribution::dense, job_.record.rules); !filled) {
      return filled;
    }
    before = k;
    if (party == Party::candidate) {
      candidate_set = k;
      if (!time_candidate(k, times, timings)) return {};
      continue;
    }
    if (party == Party::eager) eager_set = k;
    auto done = is_further(party) ? time_further(party, k, times) : time_baseline(party, k, times);
    if (!done) return done;
  }
  timings.guards_changed = !job_.bench.guards_intact(candidate_set);
  timings.errors.add(job_.bench.compare_outputs({Side::candidate, candidate_set},
                                                {Side::worker, eager_set}, measure_.bound));
  timings.blocks.push_back(times);
  return {};
}

bool EvaluationStay::time_candidate(uint32_t set, TimedBlock& times, Timings& timings) {
  job_.bench.reset(set);
  const auto warmed = warm_up();
  if (warmed) timings.fault = warmed->fault;
  if (timings.fault) return false;
  const MeteredCall call = candidate_meter_.measure(
      [&] { return call_candidate(set); }, warmed ? std::optional{warmed->elapsed} : std::nullopt);
  timings.fault = call.fault;
  times.candidate_ms = call.charged_ms;
  times.candidate_elapsed_ms = call.elapsed_ms;
  times.candidate_clock_ms = call.clock_ms;
  times.candidate_waited_ms = call.waited_ms;
  timings.worst_overtime_ms = std::max(timings.worst_overtime_ms, call.overtime_ms);
  return !call.fault;
}

OrFailure<void> EvaluationStay::time_baseline(Party party, uint32_t set, TimedBlock& times) {
  const bool eager = party == Party::eager;
  const MeteredCall call = session_meter_.measure(
      [&] { return eager ? session_.eager(set, deadline_) : session_.compiled(set, deadline_); });
  if (call.fault) return tl::unexpected(failure_of(*call.fault, "baseline"));
  (eager ? times.eager_ms : times.compile_ms) = call.charged_ms;
  if (eager) {
    if (auto done = session_.collect(set, deadline_); !done) return done;
  }
  return session_.forget(deadline_);
}

/// A baseline that was dropped during timing leaves its places in the schedule empty.
bool EvaluationStay::present(Party party) const {
  return !is_further(party) || further_.has(baseline_of(party));
}

OrFailure<void> EvaluationStay::time_further(Party party, uint32_t set, TimedBlock& times) {
  const Baseline which = baseline_of(party);
  const Patience patience{Blame::machine, 5 * call_patience(job_.record.facts), deadline_};
  const auto ms = call_further(which, set, session_, session_meter_, further_, patience);
  if (!ms) return tl::unexpected(ms.error());
  if (*ms) times.further_ms[which] = **ms;
  return session_.forget(deadline_);
}

}  // namespace warpsmith::sandbox
