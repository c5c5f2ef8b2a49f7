// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/evaluation.hpp"

#include <algorithm>

#include "sandbox/contract/cpu_contestant.hpp"
#include "sandbox/judge/guards.hpp"
#include "sandbox/judge/phase_clock.hpp"
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

/// The kept distributions, repeated up to `count`, and the one of timed sets, in a secret order:
/// what looks at its inputs cannot tell that nothing but the cheap check waits.
std::vector<Distribution> distributions_for(const IngestRecord& record, int count,
                                            RandomStream& random) {
  std::vector<Distribution> kept;
  for (const DistributionFacts& facts : record.distributions) {
    if (facts.kept) kept.push_back(facts.distribution);
  }
  std::vector<Distribution> chosen;
  chosen.reserve(static_cast<size_t>(count) + verified_dense_sets);
  for (int i = 0; i < count; ++i) chosen.push_back(kept[static_cast<size_t>(i) % kept.size()]);
  chosen.insert(chosen.end(), verified_dense_sets, Distribution::dense);
  std::shuffle(chosen.begin(), chosen.end(), random);
  return chosen;
}

class Evaluation {
 public:
  Evaluation(const EvaluationJob& job, Contestant candidate, WorkerSession session,
             Deadline deadline)
      : job_(job),
        key_(job.seed.key()),
        random_(job.seed.seed, "schedule"),
        candidate_(std::move(candidate)),
        session_(std::move(session)),
        candidate_meter_(candidate_.process().pid(), candidate_.noop()),
        session_meter_(session_.pid(), session_.noop()),
        deadline_(deadline) {
    draws_ = std::any_of(job.record.rules.begin(), job.record.rules.end(),
                         [](const InputRule& rule) { return rule.drawn; });
  }

  Result<void> run() {
    outcome_.jail = candidate_.process().report();
    outcome_.candidate_noop_ms = in_ms(candidate_.noop());
    outcome_.baseline_noop_ms = in_ms(session_.noop());
    if (load()) {
      if (auto done = verify(); !done) return tl::unexpected(done.error());
      if (job_.timed && all_right()) {
        if (auto done = time(); !done) return tl::unexpected(done.error());
      }
    }
    // A call that our own deadline cut short says nothing about the candidate.
    if (deadline_.passed()) return fail(ErrorCode::timeout, "the evaluation's deadline passed");
    const auto clock = phase("end");
    (void)candidate_.process().kill();
    if (auto left = session_.leave(deadline_); !left) return tl::unexpected(left.error());
    return {};
  }

  WorkerSession& session() { return session_; }
  EvaluationOutcome take_outcome() { return std::move(outcome_); }

 private:
  Deadline patience() const {
    const auto call = std::min(job_.call_timeout, call_patience(job_.record.facts));
    return Deadline::after(std::min(deadline_.left(), call));
  }

  PhaseClock phase(const char* name) { return {outcome_.phase_ms, name}; }

  bool load() {
    const auto clock = phase("start");
    outcome_.measured.early = candidate_.load(patience()).fault;
    return !outcome_.measured.early;
  }

  bool all_right() const {
    const auto& sets = outcome_.measured.sets;
    return static_cast<int>(sets.size()) == job_.verified_sets + verified_dense_sets &&
           std::all_of(sets.begin(), sets.end(), [](const VerifiedSet& set) {
             return !set.fault && !set.inputs_changed && !set.guards_changed && set.errors.right();
           });
  }

  uint32_t next_set() { return set_ = (set_ + 1) % job_.bench.sets(); }

  Result<void> fill(uint32_t set, uint64_t number, Distribution distribution) {
    if (draws_ && drawn_ != number) {
      if (auto drawn = session_.draw(deadline_); !drawn) return drawn;
      drawn_ = number;
    }
    if (draws_) job_.bench.take_drawn(set, job_.record.rules);
    job_.bench.fill(set, {key_, number, distribution}, job_.record.rules);
    return {};
  }

  Result<void> verify() {
    uint64_t number = 0;
    for (const Distribution d : distributions_for(job_.record, job_.verified_sets, random_)) {
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
      if (auto filled = fill(k, number, distribution); !filled)
        return tl::unexpected(filled.error());
      job_.bench.reset(job_.bench.candidate_outputs(), k);
      hash = inputs_hash(job_.bench.inputs(), k);
    }
    {
      const auto clock = phase("candidate");
      set.fault = candidate_.call(k, patience()).fault;
    }
    if (set.fault) return set;
    set.inputs_changed = inputs_hash(job_.bench.inputs(), k) != hash;
    set.guards_changed = !guards_intact(job_.bench.candidate_outputs(), k);
    {
      const auto clock = phase("references");
      if (auto done = session_.reference(k, deadline_); !done) return tl::unexpected(done.error());
    }
    const auto clock = phase("comparison");
    set.errors = job_.bench.compare_with_reference(job_.bench.candidate_outputs(), k,
                                                   bound_for(spread_evaluations));
    return set;
  }

  Result<void> time() {
    const auto clock = phase("timing");
    Timings timings;
    const int count = block_count(job_.record.facts.eager_ms, timing_budget_ms, job_.timed_blocks);
    // One more in front, checked but not counted: it warms what the verified calls left cold.
    std::vector<Block> schedule = make_schedule(count, random_);
    schedule.insert(schedule.begin(), schedule.back());
    for (size_t b = 0; b < schedule.size() && sound(timings); ++b) {
      if (auto done = time_block(schedule[b], first_timed + b, timings); !done) return done;
      if (b == 0 && !timings.blocks.empty()) timings.blocks.clear();
    }
    outcome_.measured.timings = std::move(timings);
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
      const uint32_t k = next_set();
      if (drawn_in) {
        job_.bench.copy_inputs(*drawn_in, k);
      } else if (auto filled = fill(k, number, Distribution::dense); !filled) {
        return filled;
      }
      if (!drawn_in) drawn_in = k;
      if (party == Party::candidate) {
        candidate_set = k;
        if (!time_candidate(k, times, timings)) return {};
        continue;
      }
      if (party == Party::eager) eager_set = k;
      if (auto done = time_baseline(party, k, times); !done) return done;
    }
    timings.guards_changed = !guards_intact(job_.bench.candidate_outputs(), candidate_set);
    timings.errors.add(job_.bench.compare_with_worker(job_.bench.candidate_outputs(), candidate_set,
                                                      eager_set, job_.record.profiles,
                                                      bound_for(spread_evaluations)));
    timings.blocks.push_back(times);
    return {};
  }

  bool time_candidate(uint32_t set, TimedBlock& times, Timings& timings) {
    job_.bench.reset(job_.bench.candidate_outputs(), set);
    const MeteredCall call =
        candidate_meter_.measure([&] { return candidate_.call(set, patience()); });
    timings.fault = call.fault;
    times.candidate_ms = call.charged_ms;
    times.candidate_elapsed_ms = call.elapsed_ms;
    timings.worst_overtime_ms = std::max(timings.worst_overtime_ms, call.overtime_ms);
    return !call.fault;
  }

  Result<void> time_baseline(Party party, uint32_t set, TimedBlock& times) {
    const bool eager = party == Party::eager;
    const MeteredCall call = session_meter_.measure(
        [&] { return eager ? session_.eager(set, deadline_) : session_.compiled(set, deadline_); });
    if (call.fault) return tl::unexpected(error_of(*call.fault, "baseline"));
    (eager ? times.eager_ms : times.compile_ms) = call.charged_ms;
    if (eager) {
      if (auto done = session_.collect(set, deadline_); !done) return done;
    }
    return session_.forget(deadline_);
  }

  const EvaluationJob& job_;
  StreamKey key_;
  RandomStream random_;
  Contestant candidate_;
  WorkerSession session_;
  CallMeter candidate_meter_, session_meter_;
  Deadline deadline_;
  bool draws_ = false;
  uint64_t drawn_ = 0;  // number of the contents that were drawn last
  uint32_t set_ = 0;
  EvaluationOutcome outcome_;
};

/// A candidate's process that cannot start is no failure of the reference's.
Error start_error(Error error) {
  const bool lost = error.code == ErrorCode::infrastructure || error.code == ErrorCode::peer_lost;
  if (lost) error.code = ErrorCode::process_failed;
  error.message = "the candidate's process: " + error.message;
  return error;
}

}  // namespace

Result<EvaluationOutcome> run_evaluation(const EvaluationJob& job, Deadline deadline) {
  std::map<std::string, double> phases;
  std::optional<Evaluation> evaluation;
  {
    const PhaseClock clock(phases, "start");
    // No output of an earlier candidate is ever shown to a later one.
    for (uint32_t k = 0; k < job.bench.sets(); ++k)
      job.bench.reset(job.bench.candidate_outputs(), k);
    CpuContestantSpec spec{.runner = job.runner,
                           .artefact = job.artefact,
                           .dims = job.record.facts.signature.dims,
                           .inputs = job.bench.inputs(),
                           .outputs = job.bench.candidate_outputs(),
                           .core = job.core};
    spec.limits = job.limits;
    auto candidate = start_cpu_contestant(spec, deadline);
    if (!candidate) return tl::unexpected(start_error(std::move(candidate.error())));
    const PhaseClock entering(phases, "session");
    auto session =
        job.worker.enter(job.task, job.bench.session_memory(),
                         {spread_evaluations, job.seed.seed ^ job.seed.salt[0]}, deadline);
    if (!session) return tl::unexpected(session.error());
    evaluation.emplace(job, std::move(*candidate), std::move(*session), deadline);
  }
  if (auto done = evaluation->run(); !done) {
    return tl::unexpected(job.worker.with_cause(done.error(), evaluation->session()));
  }
  {
    const PhaseClock clock(phases, "end");
    if (auto ended = job.worker.finish(deadline); !ended) return tl::unexpected(ended.error());
  }
  EvaluationOutcome outcome = evaluation->take_outcome();
  for (const auto& [name, ms] : phases) outcome.phase_ms[name] += ms;
  outcome.phase_ms["start"] -= phases["session"];
  return outcome;
}

}  // namespace warpsmith::sandbox
