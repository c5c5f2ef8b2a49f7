// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/evaluation_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>

#include "sandbox/judge/decision.hpp"
#include "sandbox/judge/exact_comparison.hpp"
#include "sandbox/judge/further_trials.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr std::array<std::string_view, 4> libraries{"libcu", "libnv", "triton", "libgomp"};

bool computes(std::string_view name) {
  return std::ranges::any_of(
      libraries, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

std::vector<std::string> libraries_of(pid_t pid) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  return computing_libraries({std::istreambuf_iterator<char>(maps), {}});
}

using std::chrono::milliseconds;

// A later call loads nothing, so eager's time and the candidate's own calls determine its patience.
// But a GPU with shared time reported a trap up to 3.5 s late, and less patience would call that a
// time-out.
constexpr milliseconds trap_patience{5'000};
constexpr int slower_than_before = 4;

/// The kept distributions, repeated up to `count`, and the one of timed sets, in a secret order, so
/// that a candidate cannot tell from its inputs when only the cheap check follows.
std::vector<Distribution> strict_distributions(const EvaluationJob& job, RandomStream& random) {
  const auto count = static_cast<int>(job.settings.verified_sets);
  std::vector<Distribution> kept;
  for (const DistributionFacts& facts : job.record.distributions) {
    if (facts.kept) kept.push_back(facts.distribution);
  }
  std::vector<Distribution> chosen;
  chosen.reserve(static_cast<size_t>(count) + verified_dense_sets);
  for (int i = 0; i < count; ++i) chosen.push_back(kept[static_cast<size_t>(i) % kept.size()]);
  chosen.insert(chosen.end(), verified_dense_sets, Distribution::dense);
  std::shuffle(chosen.begin(), chosen.end(), random);
  return chosen;
}

std::vector<Distribution> distributions_for(const EvaluationJob& job, RandomStream& random) {
  if (job.settings.numerics == Numerics::paper)
    return std::vector(paper_sets, Distribution::normal);
  return strict_distributions(job, random);
}

// Numbers of the contents by which `strict` judges what `paper` passed.
constexpr uint64_t first_strict = 1 << 18;
// Draws of one set, and the distance of their numbers.
constexpr uint64_t most_draws = 4, next_draw = 1 << 16;

bool is_right(const VerifiedSet& set) {
  return !set.fault && !set.inputs_changed && !set.guards_changed && set.errors.right();
}

bool is_right(const Timings& timings) {
  return !timings.fault && !timings.guards_changed && timings.errors.right();
}

CallMeter candidate_meter(const EvaluationJob& job, Contestant& candidate) {
  if (job.stage != nullptr) return CallMeter::by_clock(candidate.noop());
  if (job.on_device)
    return CallMeter::by_device(candidate.process().pid(), candidate.device_noop());
  return CallMeter::by_core(candidate.process().pid(), candidate.noop());
}

/// On a CPU the load of other processes is charged to a host candidate and so to its baselines.
CallMeter session_meter(const EvaluationJob& job, WorkerSession& session) {
  if (job.on_device) return CallMeter::by_device(session.pid(), session.device_noop());
  if (job.stage != nullptr) return CallMeter::by_clock(session.noop());
  return CallMeter::by_core(session.pid(), session.noop());
}

bool is_further(Implementation implementation) {
  return implementation == Implementation::tuned || implementation == Implementation::graphed;
}

/// Requires a further baseline.
Baseline baseline_of(Implementation implementation) {
  return implementation == Implementation::tuned ? Baseline::tuned : Baseline::graphed;
}

std::vector<Implementation> timed_implementations(const FurtherBaselines& further) {
  std::vector<Implementation> implementations{Implementation::candidate, Implementation::eager,
                                              Implementation::compiled};
  for (const Baseline which : further.left()) {
    implementations.push_back(which == Baseline::tuned ? Implementation::tuned
                                                       : Implementation::graphed);
  }
  return implementations;
}

constexpr double timing_budget_ms = 12;  // for eager's calls; determines the number of blocks
// Limit of the blocks as a multiple of the least number. A GPU's events are steady, and its blocks
// cost mainly processor time between short calls, during which others wait for the GPU.
constexpr int most_blocks_factor_host = 4, most_blocks_factor_device = 2;
// Numbers of contents; smaller ones belong to verified sets.
constexpr uint64_t first_undisturbed = 1 << 19, first_timed = 1 << 20;

// Calls of each baseline before the candidate's code is loaded, after one to warm up.
constexpr double undisturbed_budget_ms = 200;
constexpr double least_undisturbed = 2, most_undisturbed = 5;
// A GPU's times drift by a few per cent with its clock rates.
constexpr double device_slack = 0.05;

}  // namespace

std::vector<std::string> computing_libraries(const std::string& maps) {
  std::set<std::string> found;
  std::istringstream lines{maps};
  for (std::string line; std::getline(lines, line);) {
    const size_t slash = line.find('/');
    if (slash == std::string::npos) continue;
    const std::string name = line.substr(line.find_last_of('/') + 1);
    if (name.find(".so") != std::string::npos && computes(name)) found.insert(name);
  }
  return {found.begin(), found.end()};
}

CallResult CandidateCalls::load(Patience patience) {
  if (job_.stage != nullptr) libraries_before_ = libraries_of(candidate_.process().pid());
  const CandidateTimer own(job_.own);
  return candidate_.load(patience);
}

CallResult CandidateCalls::call(uint32_t set, Patience patience) {
  const CandidateTimer own(job_.own);
  CandidateStage* const stage = job_.stage;
  if (stage == nullptr) return candidate_.call(set, patience);
  stage->arm(set, draw_positions(job_.bench.signature(), stage->memory().layout, random_));
  const CallEdges edges{[&] { stage->reveal(set); }, [&] { stage->sample(); }};
  CallResult result = candidate_.call(0, patience, edges);
  if (!result.fault && !stage->take(set)) {
    result.fault = Fault{VerdictClass::wrong, "outputs changed after the kernel said it was done"};
  }
  return result;
}

std::optional<StageFacts> CandidateCalls::facts() {
  if (job_.stage == nullptr) return std::nullopt;
  StageFacts facts{.on_device = job_.on_device,
                   .reveal_ms = in_ms(candidate_.reveal()),
                   .output_copy_ms = in_ms(candidate_.own_work()),
                   .noop_ms = in_ms(candidate_.noop())};
  if (!candidate_.process().alive()) return facts;
  const std::vector<std::string> now = libraries_of(candidate_.process().pid());
  std::ranges::set_difference(now, libraries_before_, std::back_inserter(facts.libraries));
  return facts;
}

milliseconds first_patience(const EvaluationJob& job) {
  // The whole limit: a first call triggers lazy loading, and a trap is reported late.
  if (job.stage != nullptr || job.on_device) return job.settings.call_timeout;
  return std::min(job.settings.call_timeout, call_patience(job.record.facts));
}

milliseconds later_patience(const TaskFacts& facts, bool on_device, milliseconds slowest) {
  const milliseconds own = slower_than_before * slowest;
  return std::max({call_patience(facts), own, on_device ? trap_patience : milliseconds{0}});
}

EvaluationSession::EvaluationSession(const EvaluationJob& job, CandidateCalls& calls,
                                     WorkerSession& session, FurtherBaselines& further,
                                     EvaluationOutcome& outcome, Deadline deadline)
    : job_(job),
      key_(job.seed.key()),
      random_(job.seed.seed, "schedule"),
      candidate_(calls.candidate()),
      calls_(calls),
      criteria_(criteria_for(job, job.settings.numerics)),
      session_(session),
      further_(further),
      outcome_(outcome),
      candidate_meter_(candidate_meter(job, candidate_)),
      session_meter_(session_meter(job, session_)),
      deadline_(deadline) {
  has_drawn_inputs_ = std::any_of(job.record.rules.begin(), job.record.rules.end(),
                                  [](const InputRule& rule) { return rule.drawn; });
}

OrFailure<void> EvaluationSession::run() {
  outcome_.baseline_noop_ms = in_ms(session_.noop());
  TRY_VOID(verify());
  if (job_.timed && all_sets_right()) {
    TRY_VOID(time());
  }
  const bool passes =
      job_.settings.numerics == Numerics::paper && all_sets_right() && timed_calls_right();
  return passes && job_.record.strict_refusal.empty() ? verify_strictly() : OrFailure<void>{};
}

EvaluationSession::Criteria EvaluationSession::criteria_for(const EvaluationJob& job,
                                                            Numerics numerics) {
  const bool paper = numerics == Numerics::paper;
  return {numerics, paper ? paper_rules(job.record.rules) : job.record.rules,
          bound_for(numerics, spread_evaluations)};
}

Patience EvaluationSession::patience() const {
  milliseconds most = first_patience(job_);
  if (slowest_ > milliseconds{0}) {
    most = std::min(most, later_patience(job_.record.facts, job_.on_device, slowest_));
  }
  return {Blame::candidate, most, deadline_};
}

std::optional<CallResult> EvaluationSession::warm_up() {
  if (!job_.on_device || job_.stage != nullptr) return std::nullopt;
  return candidate_.warm_up(patience());
}

CallResult EvaluationSession::call_candidate(uint32_t set) {
  const CallResult result = calls_.call(set, patience());
  slowest_ = std::max(slowest_, std::chrono::ceil<milliseconds>(result.elapsed));
  return result;
}

bool EvaluationSession::all_sets_right() const {
  const auto& sets = outcome_.measured.sets;
  return static_cast<int>(sets.size()) == wanted_sets(job_.settings) &&
         std::ranges::all_of(sets, [](const VerifiedSet& set) { return is_right(set); });
}

/// False if a timed call showed that the candidate is wrong.
bool EvaluationSession::timed_calls_right() const {
  const auto& timings = outcome_.measured.timings;
  return !timings || is_right(*timings);
}

OrFailure<void> EvaluationSession::fill(uint32_t set, uint64_t number, Distribution distribution,
                                        std::span<const InputRule> rules) {
  if (has_drawn_inputs_ && drawn_number_ != number) {
    TRY_VOID(session_.draw(deadline_));
    drawn_number_ = number;
  }
  if (has_drawn_inputs_) job_.bench.take_drawn(set, rules);
  job_.bench.fill(set, {key_, number, distribution}, rules);
  return {};
}

OrFailure<void> EvaluationSession::verify() {
  uint64_t number = job_.contents_before;
  for (const Distribution d : distributions_for(job_, random_)) {
    TRY(auto set, verify_one(++number, d, criteria_));
    outcome_.measured.sets.push_back(std::move(set));
    const VerifiedSet& last = outcome_.measured.sets.back();
    if (last.fault || last.guards_changed || !last.errors.right()) return {};
  }
  // Before the timed calls, which thus start with no more than the first verified call did.
  VerifiedSet& last = outcome_.measured.sets.back();
  last.guards_changed = !job_.bench.rest_intact();
  return {};
}

/// Comes last: a kernel that fails here has passed and was timed.
OrFailure<void> EvaluationSession::verify_strictly() {
  const Criteria strict = criteria_for(job_, Numerics::strict);
  uint64_t number = job_.contents_before + first_strict;
  for (const Distribution d : strict_distributions(job_, random_)) {
    TRY(auto set, verify_one(++number, d, strict));
    outcome_.measured.strict_sets.push_back(std::move(set));
    if (!is_right(outcome_.measured.strict_sets.back())) break;
  }
  return {};
}

/// A set on which eager itself is wrong, for example near the largest float32, is no evidence
/// against a candidate, and no candidate can cause it. Such a set is drawn again.
OrFailure<VerifiedSet> EvaluationSession::verify_one(uint64_t number, Distribution distribution,
                                                     const Criteria& criteria) {
  for (uint64_t draw = 0; draw < most_draws; ++draw) {
    TRY(auto set, verify_draw(number + draw * next_draw, distribution, criteria));
    const bool untouched = !set.fault && !set.inputs_changed && !set.guards_changed;
    set.redrawn = draw;
    if (!untouched || set.errors.right() || criteria.numerics == Numerics::paper) return set;
    TRY(const bool eager_right, is_eager_right(set_, criteria.bound));
    if (eager_right) return set;
  }
  return tl::unexpected(refusal(
      fmt::format("eager's own outputs were not within the bound on {} draws of the inputs \"{}\"",
                  most_draws, to_string(distribution))));
}

/// Requires that the result memory contains the reference of the set.
OrFailure<bool> EvaluationSession::is_eager_right(uint32_t set, const BoundRule& bound) {
  const CallResult call = session_.eager(set, deadline_);
  if (call.fault) return tl::unexpected(failure_of(*call.fault, "baseline"));
  TRY_VOID(session_.collect(set, deadline_));
  TRY(const auto errors,
      compare_exactly(job_.bench, session_, {Side::worker, set}, set, bound, deadline_));
  return errors.right();
}

OrFailure<VerifiedSet> EvaluationSession::verify_draw(uint64_t number, Distribution distribution,
                                                      const Criteria& criteria) {
  const uint32_t k = next_set();
  VerifiedSet set{.distribution = distribution};
  uint64_t hash = 0;
  {
    const auto clock = phase("inputs");
    TRY_VOID(fill(k, number, distribution, criteria.rules));
    job_.bench.reset(k);
    hash = job_.bench.inputs_hash(k);
  }
  {
    const auto clock = phase("candidate");
    const auto warmed = warm_up();
    if (warmed) set.fault = warmed->fault;
    if (!set.fault) set.fault = call_candidate(k).fault;
  }
  if (set.fault) return set;
  set.inputs_changed = job_.bench.inputs_hash(k) != hash;
  set.guards_changed = !job_.bench.guards_intact(k);
  {
    const auto clock = phase("references");
    TRY_VOID(criteria.bound.tolerance > 0 ? session_.values(k, deadline_)
                                          : session_.reference(k, deadline_));
  }
  const auto clock = phase("comparison");
  TRY(set.errors,
      compare_exactly(job_.bench, session_, {Side::candidate, k}, k, criteria.bound, deadline_));
  if (!set.errors.right()) {
    set.report = wrong_report(job_.bench, {Side::candidate, k}, k, criteria.bound, set.errors);
  }
  // Ingest tried only the distributions of `strict`.
  if (criteria.numerics == Numerics::paper && set.errors.undefined > 0) {
    return tl::unexpected(
        refusal("numerics paper: the reference is not a number on inputs like the task's own"));
  }
  return set;
}

OrFailure<void> EvaluationSession::time_undisturbed() {
  const auto clock = phase("timing");
  job_.bench.use_profiles(job_.record.profiles);  // allocates: do it first
  const double wanted = undisturbed_budget_ms / measurable(job_.record.facts.eager_ms);
  const auto calls = static_cast<uint64_t>(std::clamp(wanted, least_undisturbed, most_undisturbed));
  Timings alone;
  for (uint64_t i = 0; i <= calls; ++i) {
    const uint32_t first = next_set(), second = next_set();
    auto done = fill(first, first_undisturbed + i, Distribution::dense, job_.record.rules);
    TimedBlock times;
    if (done) done = time_baseline(Implementation::eager, first, times);
    if (!done) return done;
    job_.bench.copy_inputs(first, second);
    if (done = time_baseline(Implementation::compiled, second, times); !done) return done;
    if (i > 0) alone.blocks.push_back(times);
  }
  undisturbed_ = {.eager_ms = median_of(alone, &TimedBlock::eager_ms),
                  .compile_ms = median_of(alone, &TimedBlock::compile_ms),
                  .slack = device_slack};
  return {};
}

OrFailure<void> EvaluationSession::time() {
  const auto clock = phase("timing");
  Timings timings{.on_device = job_.on_device && job_.stage == nullptr,
                  .grain_ms = job_.on_device ? 0 : grain_of_noop * in_ms(candidate_.noop()),
                  .undisturbed = undisturbed_};
  outcome_.no_clocks = job_.no_clocks;
  if (!undisturbed_) job_.bench.use_profiles(job_.record.profiles);
  std::optional<ClockLog> clocks;
  if (job_.clocks != nullptr) clocks.emplace(*job_.clocks);
  TRY_VOID(time_blocks(timings, clocks ? &*clocks : nullptr));
  if (clocks) outcome_.clocks = clocks->end();
  for (const Baseline which : further_.wanted()) {
    timings.further.push_back({.which = which, .reason = further_.reason(which)});
  }
  outcome_.measured.timings = std::move(timings);
  return {};
}

OrFailure<void> EvaluationSession::time_blocks(Timings& timings, ClockLog* clocks) {
  const std::vector<Implementation> implementations = timed_implementations(further_);
  const int factor = timings.on_device ? most_blocks_factor_device : most_blocks_factor_host;
  const auto least = static_cast<int>(job_.settings.timed_blocks);
  const int count = block_count(job_.record.facts.eager_ms, timing_budget_ms, least, factor * least,
                                cycle_of(implementations.size()));
  // One uncounted block in front, which is still checked: it warms what verification left cold.
  std::vector<Block> schedule = make_schedule(implementations, count, random_);
  schedule.insert(schedule.begin(), schedule.back());
  double spent_ms = 0;
  for (size_t b = 0;
       b < schedule.size() && is_right(timings) && !is_slow_beyond_doubt(timings, spent_ms); ++b) {
    TRY_VOID(time_block(schedule[b], first_timed + b, timings));
    if (!timings.blocks.empty()) spent_ms += timings.blocks.back().candidate_elapsed_ms;
    if (b == 0) timings.blocks.clear();
    if (clocks != nullptr && b == 0) clocks->begin();
    if (clocks != nullptr && b > 0) clocks->block_done();
  }
  if (is_right(timings)) timings.guards_changed = !job_.bench.rest_intact();
  return {};
}

/// Long timing keeps others from the GPU, and more blocks would only refine how much slower the
/// candidate is. Stops after whole pairs of mirrored blocks, which cancel drift. The bound is half
/// of the one in `decide`, which draws other samples.
bool EvaluationSession::is_slow_beyond_doubt(const Timings& timings, double spent_ms) const {
  const size_t blocks = timings.blocks.size();
  if (spent_ms < in_ms(job_.long_timing) || blocks == 0 || blocks % 2 != 0) return false;
  RandomStream random(job_.seed.seed, "enough");
  return likely_speedup(timings.blocks, random) < far_slower / 2;
}

OrFailure<void> EvaluationSession::time_block(const Block& block, uint64_t number,
                                              Timings& timings) {
  TimedBlock times{.order = block};
  uint32_t candidate_set = 0, eager_set = 0;
  // The set of the previous implementation. Copying takes it out of the caches, so that no set with
  // these contents is cached when the candidate is called.
  std::optional<uint32_t> before;
  for (const Implementation implementation : block) {
    if (!is_available(implementation)) continue;
    const uint32_t k = next_set();
    if (before) {
      job_.bench.copy_inputs(*before, k);
    } else
      TRY_VOID(fill(k, number, Distribution::dense, job_.record.rules));
    before = k;
    if (implementation == Implementation::candidate) {
      candidate_set = k;
      if (!time_candidate(k, times, timings)) return {};
      continue;
    }
    if (implementation == Implementation::eager) eager_set = k;
    TRY_VOID(is_further(implementation) ? time_further(implementation, k, times)
                                        : time_baseline(implementation, k, times));
  }
  timings.guards_changed = !job_.bench.guards_intact(candidate_set);
  TRY(const auto errors, timed_errors(candidate_set, eager_set, timings));
  timings.errors.add(errors);
  timings.blocks.push_back(times);
  return {};
}

/// Compares with eager under the bound of the profiles. Outputs beyond it are judged as those of a
/// verified set are: the profiles do not know the rare elements at which these contents leave more
/// open. If eager is wrong there as well, they are no evidence.
OrFailure<ErrorStats> EvaluationSession::timed_errors(uint32_t candidate_set, uint32_t eager_set,
                                                      Timings& timings) {
  const BoundRule& bound = criteria_.bound;
  const ErrorStats quick = job_.bench.compare_outputs({Side::candidate, candidate_set},
                                                      {Side::worker, eager_set}, bound);
  if (quick.right() || criteria_.numerics == Numerics::paper) return quick;
  TRY_VOID(session_.reference(eager_set, deadline_));
  TRY(const bool eager_right, is_eager_right(eager_set, bound));
  if (!eager_right) return ErrorStats{};
  const Outputs outputs{Side::candidate, candidate_set};
  TRY(const auto errors,
      compare_exactly(job_.bench, session_, outputs, eager_set, bound, deadline_));
  if (!errors.right() && !timings.report) {
    timings.report = wrong_report(job_.bench, outputs, eager_set, bound, errors);
  }
  return errors;
}

bool EvaluationSession::time_candidate(uint32_t set, TimedBlock& times, Timings& timings) {
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

OrFailure<void> EvaluationSession::time_baseline(Implementation implementation, uint32_t set,
                                                 TimedBlock& times) {
  const bool eager = implementation == Implementation::eager;
  const MeteredCall call = session_meter_.measure(
      [&] { return eager ? session_.eager(set, deadline_) : session_.compiled(set, deadline_); });
  if (call.fault) return tl::unexpected(failure_of(*call.fault, "baseline"));
  (eager ? times.eager_ms : times.compile_ms) = call.charged_ms;
  if (eager) {
    TRY_VOID(session_.collect(set, deadline_));
  }
  return session_.free_outputs(deadline_);
}

/// A baseline that was dropped during timing leaves its places in the schedule empty.
bool EvaluationSession::is_available(Implementation implementation) const {
  return !is_further(implementation) || further_.has(baseline_of(implementation));
}

OrFailure<void> EvaluationSession::time_further(Implementation implementation, uint32_t set,
                                                TimedBlock& times) {
  const Baseline which = baseline_of(implementation);
  const Patience patience{Blame::machine, 5 * call_patience(job_.record.facts), deadline_};
  TRY(const auto ms, call_further(which, set, session_, session_meter_, further_, patience));
  if (ms) times.further_ms[which] = *ms;
  return session_.free_outputs(deadline_);
}

}  // namespace warpsmith::sandbox
