// SPDX-License-Identifier: Apache-2.0
#include "sandbox/evaluator/candidate_judge.hpp"

#include <array>
#include <utility>

#include "sandbox/evaluator/kernel_review.hpp"
#include "sandbox/failure/retry_policy.hpp"
#include "sandbox/jail/jail.hpp"
#include "sandbox/judge/evidence.hpp"
#include "sandbox/judge/phase_clock.hpp"
#include "sandbox/judge/subtracted_time.hpp"
#include "sandbox/judge/timed_decision.hpp"
#include "sandbox/reference/ragged.hpp"

namespace warpsmith::sandbox {
namespace {

/// The contents of an evaluation are numbered from here on.
constexpr std::array<uint64_t, 3> first_contents{0, uint64_t{1} << 40U, uint64_t{1} << 41U};

/// What a reader of a pass by numerics `paper` must know.
std::string paper_note(const Verdict& verdict) {
  std::string note = " (numerics paper: within 1e-2 + 1e-2 |y|";
  if (verdict.strict) {
    note += verdict.strict->passed ? "; strict passes too" : "; strict: " + verdict.strict->why;
  }
  if (!verdict.weakness.empty()) {
    note += "; for this task the tolerance accepts wrong answers: " + verdict.weakness;
    if (!verdict.is_rewarded()) note += "; so no reward";
  }
  return note + ")";
}

/// What `strict` says of the shown and the hidden sizes together.
std::optional<StrictResult> both(const std::optional<StrictResult>& shown, const Decision* hidden) {
  const bool fails_hidden = hidden != nullptr && hidden->strict && !hidden->strict->passed;
  if (!shown || !shown->passed || !fails_hidden) return shown;
  return StrictResult{.why = "on other sizes of the task's inputs than those shown"};
}

/// Without the candidate's own words and numbers, which might tell the sizes: only its class is
/// said.
Decision concealed(Decision decision) {
  decision.shape.hidden = true;
  if (decision.outcome == VerdictClass::passed) return decision;
  decision.feedback = std::string(to_string(decision.outcome)) +
                      ": on other sizes of the task's inputs than those shown";
  return decision;
}

EvaluateRequest untimed(EvaluateRequest request) {
  request.want = Request::verify;
  return request;
}

/// That a candidate launches its own kernels alone is a rule which it can evade, so that trust in a
/// pass under that rule is lowered.
TrustClass trust_of(const Verdict& verdict, const ContractEntry& entry, const Candidate& candidate,
                    const EvaluationOutcome& outcome) {
  if (outcome.numerics == Numerics::paper) return TrustClass::paper;
  const auto& stage = outcome.stage;
  const bool within_share = !stage || stage->within_share;
  if (!is_full_jail(verdict.jail, entry.jail) || !within_share) return TrustClass::lowered;
  if (candidate.reviews_kernels()) return TrustClass::lowered;
  return entry.trust;
}

/// False where times are the clock's alone: other work on the core may have spoilt them.
bool measures_core_time(const EvaluationOutcome& outcome) {
  return !outcome.stage || outcome.stage->on_device;
}

/// What verifying hidden sizes adds to the record.
void add_hidden(Verdict& verdict, const Decision& decision, const EvaluationOutcome& outcome) {
  verdict.shapes.push_back(decision.shape);
  for (const auto& [name, ms] : outcome.phase_ms) verdict.phase_ms["hidden_" + name] += ms;
  if (!outcome.device_held_ms) return;
  verdict.device_held_ms = verdict.device_held_ms.value_or(0) + *outcome.device_held_ms;
}

}  // namespace

OrFailure<CandidateJudge::ReadySlot> CandidateJudge::ready_for(const Run& run, Deadline deadline) {
  auto worker = tasks_.worker_with(run.request, run.record, deadline);
  if (!worker) return tl::unexpected(std::move(worker.error()));
  ReadySlot ready{.worker = *worker};
  if (slot_.takes_much(run.record)) {
    auto held = slot_.lease(deadline);
    if (!held) return tl::unexpected(std::move(held.error()));
    ready.lease = std::make_shared<std::optional<DeviceLease>>(std::move(*held));
  }
  auto bench = slot_.bench_of(run.request.task, run.record, deadline);
  if (!bench) return tl::unexpected(std::move(bench.error()));
  ready.bench = *bench;
  if (auto warm = judged_.contract.warm_up(deadline); !warm) {
    return tl::unexpected(std::move(warm.error()));
  }
  if (!judged_.entry.staged) return ready;
  auto stage = slot_.stage();
  if (!stage) return tl::unexpected(std::move(stage.error()));
  ready.stage = *stage;
  return ready;
}

AcquireLease CandidateJudge::lease_for(const ReadySlot& ready) {
  return [this, early = ready.lease](Deadline by) -> Result<std::optional<DeviceLease>> {
    if (early && *early) return std::exchange(*early, std::nullopt);
    return slot_.lease(by);
  };
}

EvaluationJob CandidateJudge::job_of(const Run& run, const ReadySlot& ready) {
  const EvaluatorOptions& options = slot_.options();
  GpuSlot* const gpu = slot_.gpu();
  const CandidatePlace place{*ready.bench, ready.stage};
  Candidate& candidate = run.candidate;
  EvaluationJob job{
      .task = run.request.task,
      .record = run.record,
      .bench = *ready.bench,
      .seed = run.seed,
      .worker = *ready.worker,
      .start_candidate = [&candidate, place](Deadline by) { return candidate.start(place, by); },
      .lease = lease_for(ready),
      .check_device = slot_.device_check(),
      .on_device = gpu != nullptr,
      .stage = ready.stage,
      .call_timeout = options.call_timeout,
      .verified_sets = options.verified_sets,
      .timed_blocks = options.timed_blocks,
      .timed = is_timed(run.request),
      .further = &tasks_.further_of(run.request.task, run.record),
      .own = &judged_.own,
      .contents_before = first_contents[static_cast<size_t>(run.part)],
      .numerics = options.numerics};
  if (run.part != Part::shown) {
    job.keep_candidate = [&candidate](Contestant running, Deadline by) {
      candidate.keep(std::move(running), by);
    };
  }
  if (gpu != nullptr) {
    job.free_memory = [gpu] { return gpu->free_memory(); };
    job.clocks = gpu->clocks();
    job.no_clocks = gpu->no_clocks();
  }
  return job;
}

OrFailure<EvaluationOutcome> CandidateJudge::attempt(const Run& run, Deadline deadline) {
  std::map<std::string, double> phases;
  OrFailure<ReadySlot> ready = ReadySlot{};
  {
    const PhaseClock clock(phases, "prepare");
    ready = ready_for(run, deadline);
  }
  if (!ready) return tl::unexpected(std::move(ready.error()));
  slot_.tell(run.request.task.id +
             (is_timed(run.request) ? ": verifying and timing" : ": verifying"));
  auto outcome = run_evaluation(job_of(run, *ready), deadline);
  if (outcome) outcome->phase_ms.merge(phases);
  return outcome;
}

Decision CandidateJudge::decide_on(const Run& run, EvaluationOutcome& outcome) {
  const EvaluatorOptions& options = slot_.options();
  if (auto& timings = outcome.measured.timings) {
    baselines_.compare(task_key(run.request.task), *timings, options.timed_blocks);
  }
  RandomStream random(run.seed.seed, "bootstrap");
  Decision decision = decide(outcome.measured, run.record.facts,
                             wanted_sets(options.numerics, options.verified_sets), random);
  if (options.numerics == Numerics::paper) {
    const std::string& why = run.record.strict_refusal;
    decision.strict = why.empty() ? strict_result(outcome.measured)
                                  : StrictResult{.why = "cannot judge this task: " + why};
  }
  if (outcome.stage) {
    weigh_subtracted(*outcome.stage, decision.shape);
    run.candidate.review(*outcome.stage, decision);
  }
  return decision;
}

OrFailure<std::optional<CandidateJudge::HiddenResult>> CandidateJudge::verify_hidden(
    const SecretSeed& seed, Deadline deadline) {
  auto ragged = ragged_task(judged_.request.task);
  if (!ragged) return std::nullopt;
  auto record = tasks_.ragged_record_of(*ragged, deadline);
  if (!record) return tl::unexpected(std::move(record.error()));
  HiddenResult result;
  auto candidate = judged_.candidate.for_sizes(*ragged, (*record)->facts.signature);
  if (!candidate) {
    result.decision.outcome = candidate.error().failure.value_or(VerdictClass::compile_error);
    result.decision = concealed(std::move(result.decision));
    return result;
  }
  EvaluateRequest request = untimed(judged_.request);
  request.task = std::move(*ragged);
  const Run run{request, **record, **candidate, seed, Part::hidden};
  auto outcome = attempt(run, deadline);
  if (!outcome) return tl::unexpected(std::move(outcome.error()));
  result.outcome = std::move(*outcome);
  result.decision = concealed(decide_on(run, result.outcome));
  return result;
}

OrFailure<CandidateJudge::Trial> CandidateJudge::try_shown(const Run& run, Deadline deadline) {
  auto outcome = attempt(run, deadline);
  if (!outcome) return tl::unexpected(std::move(outcome.error()));
  Trial trial{.shown = std::move(*outcome)};
  const PhaseClock clock(trial.shown.phase_ms, "decision");
  trial.decision = decide_on(run, trial.shown);
  return trial;
}

OrFailure<CandidateJudge::Trial> CandidateJudge::try_first(const IngestRecord& record,
                                                           const SecretSeed& seed,
                                                           Deadline deadline) {
  const EvaluateRequest request = untimed(judged_.request);
  auto trial = try_shown({request, record, judged_.candidate, seed, Part::first}, deadline);
  if (trial) trial->ends_here = trial->decision.outcome != VerdictClass::passed;
  return trial;
}

OrFailure<CandidateJudge::Trial> CandidateJudge::try_once(const IngestRecord& record,
                                                          const SecretSeed& seed,
                                                          Deadline deadline) {
  auto hidden = verify_hidden(seed, deadline);
  if (!hidden) return tl::unexpected(std::move(hidden.error()));
  const bool wrong_when_hidden = *hidden && (*hidden)->decision.outcome != VerdictClass::passed;
  OrFailure<Trial> trial = Trial{};
  if (is_timed(judged_.request) && !wrong_when_hidden) {
    const auto compiled = tasks_.has_compiled(judged_.request.task, deadline);
    if (!compiled) return tl::unexpected(compiled.error());
    if (!*compiled) trial = try_first(record, seed, deadline);
  }
  if (trial && !trial->ends_here) {
    const EvaluateRequest request = wrong_when_hidden ? untimed(judged_.request) : judged_.request;
    trial = try_shown({request, record, judged_.candidate, seed}, deadline);
  }
  if (trial) trial->hidden = std::move(*hidden);
  return trial;
}

bool CandidateJudge::settles(Trial& trial) const {
  if (!is_candidate_unstable(trial.decision) || !measures_core_time(trial.shown)) return false;
  trial.decision = accept_unstable(std::move(trial.decision));
  if (trial.shown.stage) judged_.candidate.review(*trial.shown.stage, trial.decision);
  return true;
}

OrFailure<Verdict> CandidateJudge::conclude(Verdict verdict, Trial trial, const Run& run,
                                            Deadline deadline) {
  const bool only_hidden =
      trial.wrong_when_hidden() && trial.decision.outcome == VerdictClass::passed;
  const Decision& decisive = only_hidden ? trial.hidden->decision : trial.decision;
  verdict.outcome = decisive.outcome;
  verdict.feedback = decisive.feedback;
  if (slot_.options().numerics == Numerics::paper) {
    if (verdict.correct()) {
      verdict.strict =
          both(trial.decision.strict, trial.hidden ? &trial.hidden->decision : nullptr);
      verdict.weakness = run.record.weakness;
    }
    verdict.feedback += paper_note(verdict);
  }
  verdict.shapes = {std::move(trial.decision.shape)};
  verdict.jail = std::move(trial.shown.jail);
  verdict.trust = trust_of(verdict, judged_.entry, judged_.candidate, trial.shown);
  verdict.device_held_ms = trial.shown.device_held_ms;
  if (trial.hidden) add_hidden(verdict, trial.hidden->decision, trial.hidden->outcome);
  verdict.evidence = evidence_json(trial.shown, run.record, run.seed, slot_.machine(),
                                   trial.hidden ? &trial.hidden->outcome : nullptr);
  KernelReview review(slot_, tasks_, judged_);
  if (review.is_wanted(verdict)) {
    auto reviewed = review.apply(run.record, verdict, deadline);
    if (!reviewed) return tl::unexpected(std::move(reviewed.error()));
  }
  return verdict;
}

OrFailure<Verdict> CandidateJudge::judge(Verdict verdict, Deadline deadline) {
  const Task& task = judged_.request.task;
  auto record = tasks_.record_of(task, deadline);
  if (!record) return tl::unexpected(std::move(record.error()));
  const FurtherBaselines& wanted = tasks_.further_of(task, **record);
  RetryPolicy policy(wanted.left().size());
  while (true) {
    const auto seed = draw_seed();
    if (!seed) return tl::unexpected(seed.error());
    auto trial = try_once(**record, *seed, deadline);
    if (trial) {
      for (const auto& [name, ms] : trial->shown.phase_ms) verdict.phase_ms[name] += ms;
    }
    const bool unstable = trial && trial->decision.outcome == VerdictClass::unstable_timing;
    if (!trial || unstable) {
      if (!trial) slot_.drop_worker_after(trial.error());
      const Blame blame = unstable ? Blame::machine : trial.error().blame;
      const FailedTry failed{.blame = blame,
                             .time_left = !deadline.passed(),
                             .baselines = wanted.left().size(),
                             .noise = unstable && !is_candidate_unstable(trial->decision)};
      if (policy.after(failed) == Next::retry) continue;
    }
    if (!trial) return tl::unexpected(named(std::move(trial.error()), task));
    if (unstable && !settles(*trial)) {
      verdict.outcome = trial->decision.outcome;
      verdict.feedback = std::move(trial->decision.feedback);
      return verdict;
    }
    const Run run{judged_.request, **record, judged_.candidate, *seed};
    return conclude(std::move(verdict), std::move(*trial), run, deadline);
  }
}

}  // namespace warpsmith::sandbox
