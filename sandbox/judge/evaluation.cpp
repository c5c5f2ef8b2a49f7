// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/evaluation.hpp"

#include <algorithm>

#include "sandbox/judge/candidate_calls.hpp"
#include "sandbox/judge/parties.hpp"
#include "sandbox/judge/phase_clock.hpp"
#include "sandbox/reference/further_trials.hpp"
#include "sandbox/reference/ingest.hpp"
#include "sandbox/timing/call_meter.hpp"
#include "sandbox/timing/schedule.hpp"

namespace warpsmith::sandbox {
namespace {

using std::chrono::milliseconds;

constexpr double timing_budget_ms = 12;    // of eager's share: fixes the number of blocks
constexpr uint64_t first_timed = 1 << 20;  // contents numbers below belong to verified sets

double in_ms(std::chrono::nanoseconds span) {
  return std::chrono::duration<double, std::milli>(span).count();
}

/// Patience with one call: generous, for a machine under load.
milliseconds call_patience(const TaskFacts& facts) {
  return milliseconds{2000 + static_cast<int64_t>(50 * facts.eager_ms)};
}

/// Spreads that no bound asks for are not computed.
int evaluations_of(Numerics numerics) {
  return numerics == Numerics::paper ? 0 : spread_evaluations;
}

/// Of integer and boolean inputs.
uint64_t draw_seed_of(const EvaluationJob& job) {
  return job.seed.seed ^ job.seed.salt[0] ^ job.contents_before;
}

/// The kept distributions, repeated up to `count`, and the one of timed sets, in a secret order:
/// what looks at its inputs cannot tell that nothing but the cheap check waits.
std::vector<Distribution> distributions_for(const EvaluationJob& job, RandomStream& random) {
  if (job.numerics == Numerics::paper) return std::vector(paper_sets, Distribution::normal);
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

std::unique_ptr<CallMeter> core_meter(pid_t pid, std::chrono::nanoseconds noop) {
  return std::make_unique<CoreMeter>(pid, noop);
}

/// Of a contestant or a session of the reference worker.
std::unique_ptr<CallMeter> device_meter(const auto& timed) {
  return std::make_unique<DeviceMeter>(DeviceMeter::Noop{timed.noop(), timed.device_noop()});
}

std::unique_ptr<CallMeter> candidate_meter(const EvaluationJob& job, Contestant& candidate) {
  if (job.stage != nullptr) return std::make_unique<ClockMeter>(candidate.noop());
  return job.on_device ? device_meter(candidate)
                       : core_meter(candidate.process().pid(), candidate.noop());
}

Deadline patience_with(const EvaluationJob& job, Deadline deadline) {
  // What a process loads lazily, its first call pays: all the time that there is.
  const auto call = job.stage != nullptr
                        ? job.call_timeout
                        : std::min(job.call_timeout, call_patience(job.record.facts));
  return Deadline::after(std::min(deadline.left(), call));
}

class Evaluation {
 public:
  /// What is measured goes to `outcome`. All of them outlive this.
  Evaluation(const EvaluationJob& job, CandidateCalls& calls, WorkerSession& session,
             FurtherBaselines& further, EvaluationOutcome& outcome, Deadline deadline)
      : job_(job),
        key_(job.seed.key()),
        random_(job.seed.seed, "schedule"),
        candidate_(calls.candidate()),
        calls_(calls),
        verified_rules_(job.numerics == Numerics::paper ? paper_rules(job.record.rules)
                                                        : job.record.rules),
        bound_(bound_for(job.numerics, spread_evaluations)),
        session_(session),
        further_(further),
        outcome_(outcome),
        candidate_meter_(candidate_meter(job, candidate_)),
        session_meter_(job.on_device ? device_meter(session_)
                                     : core_meter(session_.pid(), session_.noop())),
        deadline_(deadline) {
    draws_ = std::any_of(job.record.rules.begin(), job.record.rules.end(),
                         [](const InputRule& rule) { return rule.drawn; });
  }

  Result<void> run() {
    outcome_.baseline_noop_ms = in_ms(session_.noop());
    if (auto done = verify(); !done) return tl::unexpected(done.error());
    if (job_.timed && all_right()) {
      if (auto done = time(); !done) return tl::unexpected(done.error());
    }
    // A call that our own deadline cut short says nothing about the candidate.
    if (deadline_.passed()) return fail(ErrorCode::timeout, "the evaluation's deadline passed");
    const auto clock = phase("end");
    return session_.leave(deadline_);
  }

 private:
  Deadline patience() const { return patience_with(job_, deadline_); }

  PhaseClock phase(const char* name) { return {outcome_.phase_ms, name}; }

  bool all_right() const {
    const auto& sets = outcome_.measured.sets;
    return static_cast<int>(sets.size()) == wanted_sets(job_.numerics, job_.verified_sets) &&
           std::all_of(sets.begin(), sets.end(), [](const VerifiedSet& set) {
             return !set.fault && !set.inputs_changed && !set.guards_changed && set.errors.right();
           });
  }

  uint32_t next_set() { return set_ = (set_ + 1) % job_.bench.sets(); }

  Result<void> fill(uint32_t set, uint64_t number, Distribution distribution,
                    std::span<const InputRule> rules) {
    if (draws_ && drawn_ != number) {
      if (auto drawn = session_.draw(deadline_); !drawn) return drawn;
      drawn_ = number;
    }
    if (draws_) job_.bench.take_drawn(set, rules);
    job_.bench.fill(set, {key_, number, distribution}, rules);
    return {};
  }

  Result<void> verify() {
    uint64_t number = job_.contents_before;
    for (const Distribution d : distributions_for(job_, random_)) {
      auto set = verify_one(++number, d);
      if (!set) return tl::unexpected(set.error());
      outcome_.measured.sets.push_back(std::move(*set));
      const VerifiedSet& last = outcome_.measured.sets.back();
      if (last.fault || last.guards_changed || !last.errors.right()) return {};
    }
    return {};
  }

  Result<VerifiedSet> verify_one(uint64_t number, Distribution distribution) {
    const uint32_t k = next_set();
    VerifiedSet set{.distribution = distribution};
    uint64_t hash = 0;
    {
      const auto clock = phase("inputs");
      if (auto filled = fill(k, number, distribution, verified_rules_); !filled)
        return tl::unexpected(filled.error());
      job_.bench.reset(k);
      hash = job_.bench.inputs_hash(k);
    }
    {
      const auto clock = phase("candidate");
      set.fault = calls_.call(k, patience()).fault;
    }
    if (set.fault) return set;
    set.inputs_changed = job_.bench.inputs_hash(k) != hash;
    set.guards_changed = !job_.bench.guards_intact(k);
    {
      const auto clock = phase("references");
      if (auto done = session_.reference(k, deadline_); !done) return tl::unexpected(done.error());
    }
    const auto clock = phase("comparison");
    set.errors = job_.bench.compare_with_reference(Side::candidate, k, bound_);
    if (job_.numerics == Numerics::paper && set.errors.undefined > 0) return not_finite();
    return set;
  }

  /// Only the distributions of `strict` were tried when the task was measured.
  static Result<VerifiedSet> not_finite() {
    return fail(ErrorCode::invalid_argument,
                "numerics paper: the reference is not finite on inputs like the task's own");
  }

  Result<void> time() {
    const auto clock = phase("timing");
    Timings timings{.on_device = job_.on_device && job_.stage == nullptr,
                    .no_clocks = job_.no_clocks};
    job_.bench.use_profiles(job_.record.profiles);
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

  Result<void> time_blocks(Timings& timings, ClockLog* clocks) {
    const std::vector<Party> parties = parties_with(further_);
    const int count = block_count(job_.record.facts.eager_ms, timing_budget_ms, job_.timed_blocks,
                                  cycle_of(parties.size()));
    // One more in front, checked but not counted: it warms what the verified calls left cold.
    std::vector<Block> schedule = make_schedule(parties, count, random_);
    schedule.insert(schedule.begin(), schedule.back());
    for (size_t b = 0; b < schedule.size() && sound(timings); ++b) {
      if (auto done = time_block(schedule[b], first_timed + b, timings); !done) return done;
      if (b == 0) timings.blocks.clear();
      if (clocks != nullptr && b == 0) clocks->begin();
      if (clocks != nullptr && b > 0) clocks->block_done();
    }
    return {};
  }

  static bool sound(const Timings& timings) {
    return !timings.fault && !timings.guards_changed && timings.errors.right();
  }

  Result<void> time_block(const Block& block, uint64_t number, Timings& timings) {
    TimedBlock times{.order = block};
    uint32_t candidate_set = 0, eager_set = 0;
    std::optional<uint32_t> drawn_in;
    for (const Party party : block) {
      if (!present(party)) continue;
      const uint32_t k = next_set();
      if (drawn_in) {
        job_.bench.copy_inputs(*drawn_in, k);
      } else if (auto filled = fill(k, number, Distribution::dense, job_.record.rules); !filled) {
        return filled;
      }
      if (!drawn_in) drawn_in = k;
      if (party == Party::candidate) {
        candidate_set = k;
        if (!time_candidate(k, times, timings)) return {};
        continue;
      }
      if (party == Party::eager) eager_set = k;
      auto done =
          is_further(party) ? time_further(party, k, times) : time_baseline(party, k, times);
      if (!done) return done;
    }
    timings.guards_changed = !job_.bench.guards_intact(candidate_set);
    timings.errors.add(
        job_.bench.compare_with_worker(Side::candidate, candidate_set, eager_set, bound_));
    timings.blocks.push_back(times);
    return {};
  }

  bool time_candidate(uint32_t set, TimedBlock& times, Timings& timings) {
    job_.bench.reset(set);
    // A GPU then runs the candidate's context: changing to it is nobody's time.
    const bool roused = job_.on_device && job_.stage == nullptr;
    if (roused) timings.fault = candidate_.rouse(patience()).fault;
    if (timings.fault) return false;
    const MeteredCall call =
        candidate_meter_->measure([&] { return calls_.call(set, patience()); });
    timings.fault = call.fault;
    times.candidate_ms = call.charged_ms;
    times.candidate_elapsed_ms = call.elapsed_ms;
    times.candidate_clock_ms = call.clock_ms;
    timings.worst_overtime_ms = std::max(timings.worst_overtime_ms, call.overtime_ms);
    return !call.fault;
  }

  Result<void> time_baseline(Party party, uint32_t set, TimedBlock& times) {
    const bool eager = party == Party::eager;
    const MeteredCall call = session_meter_->measure(
        [&] { return eager ? session_.eager(set, deadline_) : session_.compiled(set, deadline_); });
    if (call.fault) return tl::unexpected(error_of(*call.fault, "baseline"));
    (eager ? times.eager_ms : times.compile_ms) = call.charged_ms;
    if (eager) {
      if (auto done = session_.collect(set, deadline_); !done) return done;
    }
    return session_.forget(deadline_);
  }

  /// One that was dropped on the way leaves its places in the schedule empty.
  bool present(Party party) const { return !is_further(party) || further_.has(baseline_of(party)); }

  Result<void> time_further(Party party, uint32_t set, TimedBlock& times) {
    const Baseline which = baseline_of(party);
    const auto most = std::min(deadline_.left(), 5 * call_patience(job_.record.facts));
    const auto ms =
        call_further(which, set, session_, *session_meter_, further_, Deadline::after(most));
    if (!ms) return tl::unexpected(ms.error());
    if (*ms) times.further_ms[which] = **ms;
    return session_.forget(deadline_);
  }

  const EvaluationJob& job_;
  StreamKey key_;
  RandomStream random_;
  Contestant& candidate_;
  CandidateCalls& calls_;
  std::vector<InputRule> verified_rules_;
  BoundRule bound_;
  WorkerSession& session_;
  FurtherBaselines& further_;
  EvaluationOutcome& outcome_;
  std::unique_ptr<CallMeter> candidate_meter_, session_meter_;
  Deadline deadline_;
  bool draws_ = false;
  uint64_t drawn_ = 0;  // number of the contents that were drawn last
  uint32_t set_ = 0;
};

/// A candidate's process that cannot start is no failure of the reference's.
Error start_error(Error error) {
  const bool lost = error.code == ErrorCode::infrastructure || error.code == ErrorCode::peer_lost;
  if (lost) error.code = ErrorCode::process_failed;
  error.message = "the candidate's process: " + error.message;
  return error;
}

/// The candidate's process, whose code is not loaded yet.
Result<Contestant> started_candidate(const EvaluationJob& job, EvaluationOutcome& outcome,
                                     Deadline deadline) {
  const PhaseClock clock(outcome.phase_ms, "start");
  // No output of an earlier candidate is ever shown to a later one.
  for (uint32_t k = 0; k < job.bench.sets(); ++k) job.bench.reset(k);
  auto candidate = job.start_candidate(deadline);
  if (!candidate) return tl::unexpected(start_error(std::move(candidate.error())));
  outcome.jail = candidate->process().report();
  outcome.candidate_noop_ms = in_ms(candidate->noop());
  return candidate;
}

/// Its code is made ready, or the fault that prevented that is in the outcome.
void load(const EvaluationJob& job, CandidateCalls& calls, EvaluationOutcome& outcome,
          Deadline deadline) {
  const PhaseClock clock(outcome.phase_ms, "start");
  const auto most = job.stage != nullptr ? job.load_timeout : patience_with(job, deadline).left();
  outcome.measured.early =
      calls.load(Deadline::after(std::min<milliseconds>(deadline.left(), most))).fault;
}

/// A stay of the worker, over which the candidate is verified and timed.
Result<void> measure(const EvaluationJob& job, CandidateCalls& calls, EvaluationOutcome& outcome,
                     Deadline deadline) {
  std::optional<WorkerSession> session;
  FurtherBaselines none;
  FurtherBaselines& further = job.timed && job.further != nullptr ? *job.further : none;
  {
    const PhaseClock clock(outcome.phase_ms, "session");
    auto entered = enter_with(job.worker, job.task, job.bench.session_memory(),
                              {evaluations_of(job.numerics), draw_seed_of(job)}, further, deadline);
    if (!entered) return tl::unexpected(entered.error());
    session.emplace(std::move(*entered));
  }
  Evaluation evaluation(job, calls, *session, further, outcome, deadline);
  if (auto done = evaluation.run(); !done) {
    return tl::unexpected(job.worker.with_cause(done.error(), *session));
  }
  const PhaseClock clock(outcome.phase_ms, "end");
  if (auto ended = job.worker.finish(deadline); !ended) return tl::unexpected(ended.error());
  return {};
}

/// Nothing where nothing is shared.
Result<std::optional<DeviceLease>> acquired(const EvaluationJob& job, EvaluationOutcome& outcome,
                                            Deadline deadline) {
  const PhaseClock clock(outcome.phase_ms, "wait");
  return job.lease ? job.lease(deadline) : Result<std::optional<DeviceLease>>{std::nullopt};
}

/// A call that ended by nothing that the candidate did.
std::optional<Error> struck(const Measurements& measured) {
  const auto told = [](const std::optional<Fault>& fault) { return fault && fault->ours; };
  const bool any =
      told(measured.early) || (measured.timings && told(measured.timings->fault)) ||
      std::ranges::any_of(measured.sets, [&](const VerifiedSet& set) { return told(set.fault); });
  if (!any) return std::nullopt;
  return Error{ErrorCode::process_failed, "the candidate's process: something outside killed it"};
}

double held_ms(const DeviceLease& lease) {
  return in_ms(SteadyClock::now() - lease.since());
}

}  // namespace

std::vector<InputRule> paper_rules(std::vector<InputRule> rules) {
  for (InputRule& rule : rules) rule.parameter = rule.parameter || rule.domain != Domain::unit;
  return rules;
}

Result<EvaluationOutcome> run_evaluation(const EvaluationJob& job, Deadline deadline) {
  EvaluationOutcome outcome{.numerics = job.numerics};
  Result<std::optional<DeviceLease>> held = std::nullopt;
  // A candidate's own process may work on the device as soon as it is loaded.
  const bool held_to_load = job.stage != nullptr;
  if (held_to_load) held = acquired(job, outcome, deadline);
  if (!held) return tl::unexpected(held.error());
  auto candidate = started_candidate(job, outcome, deadline);
  if (!candidate) return tl::unexpected(candidate.error());
  CandidateCalls calls(job, *candidate);
  load(job, calls, outcome, deadline);
  if (!outcome.measured.early) {
    if (!held_to_load) held = acquired(job, outcome, deadline);
    if (!held) return tl::unexpected(held.error());
    if (auto done = measure(job, calls, outcome, deadline); !done) {
      return tl::unexpected(done.error());
    }
  }
  if (auto error = struck(outcome.measured)) return tl::unexpected(std::move(*error));
  if (*held) outcome.device_held_ms = held_ms(**held);
  const PhaseClock clock(outcome.phase_ms, "end");
  outcome.stage = calls.facts();
  (void)candidate->process().kill();
  return outcome;
}

}  // namespace warpsmith::sandbox
