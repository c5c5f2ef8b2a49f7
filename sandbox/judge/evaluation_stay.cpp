// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/evaluation_stay.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;

// A later call loads nothing, so eager's time and the candidate's own calls determine its patience.
// But a GPU with shared time reported a trap up to 3.5 s late, and less patience would call that a
// time-out.
constexpr milliseconds trap_patience{5'000};
constexpr int slower_than_before = 4;

/// The kept distributions, repeated up to `count`, and the one of timed sets, in a secret order, so
/// that a candidate cannot tell from its inputs when only the cheap check follows.
std::vector<Distribution> strict_distributions(const EvaluationJob& job, RandomStream& random) {
  const int count = job.verified_sets;
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
  if (job.numerics == Numerics::paper) return std::vector(paper_sets, Distribution::normal);
  return strict_distributions(job, random);
}

// Numbers of the contents by which `strict` judges what `paper` passed.
constexpr uint64_t first_strict = 1 << 18;

bool is_right(const VerifiedSet& set) {
  return !set.fault && !set.inputs_changed && !set.guards_changed && set.errors.right();
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

}  // namespace

milliseconds first_patience(const EvaluationJob& job) {
  // All the time there is, where a first call triggers lazy loading and a trap is reported late.
  if (job.stage != nullptr || job.on_device) return job.call_timeout;
  return std::min(job.call_timeout, call_patience(job.record.facts));
}

milliseconds later_patience(const TaskFacts& facts, bool on_device, milliseconds slowest) {
  const milliseconds own = slower_than_before * slowest;
  return std::max({call_patience(facts), own, on_device ? trap_patience : milliseconds{0}});
}

EvaluationStay::EvaluationStay(const EvaluationJob& job, CandidateCalls& calls,
                               WorkerSession& session, FurtherBaselines& further,
                               EvaluationOutcome& outcome, Deadline deadline)
    : job_(job),
      key_(job.seed.key()),
      random_(job.seed.seed, "schedule"),
      candidate_(calls.candidate()),
      calls_(calls),
      measure_(measure_of(job, job.numerics)),
      session_(session),
      further_(further),
      outcome_(outcome),
      candidate_meter_(candidate_meter(job, candidate_)),
      session_meter_(session_meter(job, session_)),
      deadline_(deadline) {
  draws_ = std::any_of(job.record.rules.begin(), job.record.rules.end(),
                       [](const InputRule& rule) { return rule.drawn; });
}

OrFailure<void> EvaluationStay::run() {
  outcome_.baseline_noop_ms = in_ms(session_.noop());
  if (auto done = verify(); !done) return tl::unexpected(done.error());
  if (job_.timed && all_right()) {
    if (auto done = time(); !done) return tl::unexpected(done.error());
  }
  const bool passes = job_.numerics == Numerics::paper && all_right() && timed_well();
  return passes && job_.record.strict_refusal.empty() ? verify_strictly() : OrFailure<void>{};
}

EvaluationStay::Measure EvaluationStay::measure_of(const EvaluationJob& job, Numerics numerics) {
  const bool paper = numerics == Numerics::paper;
  return {numerics, paper ? paper_rules(job.record.rules) : job.record.rules,
          bound_for(numerics, spread_evaluations)};
}

Patience EvaluationStay::patience() const {
  milliseconds most = first_patience(job_);
  if (slowest_ > milliseconds{0}) {
    most = std::min(most, later_patience(job_.record.facts, job_.on_device, slowest_));
  }
  return {Blame::candidate, most, deadline_};
}

std::optional<CallResult> EvaluationStay::warm_up() {
  if (!job_.on_device || job_.stage != nullptr) return std::nullopt;
  return candidate_.warm_up(patience());
}

CallResult EvaluationStay::call_candidate(uint32_t set) {
  const CallResult result = calls_.call(set, patience());
  slowest_ = std::max(slowest_, std::chrono::ceil<milliseconds>(result.elapsed));
  return result;
}

bool EvaluationStay::all_right() const {
  const auto& sets = outcome_.measured.sets;
  return static_cast<int>(sets.size()) == wanted_sets(job_.numerics, job_.verified_sets) &&
         std::ranges::all_of(sets, is_right);
}

/// False if a timed call showed that the candidate is wrong.
bool EvaluationStay::timed_well() const {
  const auto& timings = outcome_.measured.timings;
  return !timings || (!timings->fault && !timings->guards_changed && timings->errors.right());
}

OrFailure<void> EvaluationStay::fill(uint32_t set, uint64_t number, Distribution distribution,
                                     std::span<const InputRule> rules) {
  if (draws_ && drawn_ != number) {
    if (auto drawn = session_.draw(deadline_); !drawn) return drawn;
    drawn_ = number;
  }
  if (draws_) job_.bench.take_drawn(set, rules);
  job_.bench.fill(set, {key_, number, distribution}, rules);
  return {};
}

OrFailure<void> EvaluationStay::verify() {
  uint64_t number = job_.contents_before;
  for (const Distribution d : distributions_for(job_, random_)) {
    auto set = verify_one(++number, d, measure_);
    if (!set) return tl::unexpected(set.error());
    outcome_.measured.sets.push_back(std::move(*set));
    const VerifiedSet& last = outcome_.measured.sets.back();
    if (last.fault || last.guards_changed || !last.errors.right()) return {};
  }
  // Before the timed calls, which thus start with no more than the first verified call did.
  VerifiedSet& last = outcome_.measured.sets.back();
  last.guards_changed = !job_.bench.rest_intact();
  return {};
}

/// Comes last: a kernel that fails here has passed and was timed.
OrFailure<void> EvaluationStay::verify_strictly() {
  const Measure strict = measure_of(job_, Numerics::strict);
  uint64_t number = job_.contents_before + first_strict;
  for (const Distribution d : strict_distributions(job_, random_)) {
    auto set = verify_one(++number, d, strict);
    if (!set) return tl::unexpected(set.error());
    outcome_.measured.strict_sets.push_back(std::move(*set));
    if (!is_right(outcome_.measured.strict_sets.back())) break;
  }
  return {};
}

OrFailure<VerifiedSet> EvaluationStay::verify_one(uint64_t number, Distribution distribution,
                                                  const Measure& measure) {
  const uint32_t k = next_set();
  VerifiedSet set{.distribution = distribution};
  uint64_t hash = 0;
  {
    const auto clock = phase("inputs");
    if (auto filled = fill(k, number, distribution, measure.rules); !filled)
      return tl::unexpected(filled.error());
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
    const auto done = measure.bound.tolerance > 0 ? session_.values(k, deadline_)
                                                  : session_.reference(k, deadline_);
    if (!done) return tl::unexpected(done.error());
  }
  const auto clock = phase("comparison");
  set.errors = job_.bench.compare_with_reference(Side::candidate, k, measure.bound);
  // Ingest tried only the distributions of `strict`.
  if (measure.numerics == Numerics::paper && set.errors.undefined > 0) {
    return tl::unexpected(
        refusal("numerics paper: the reference is not a number on inputs like the task's own"));
  }
  return set;
}

}  // namespace warpsmith::sandbox
