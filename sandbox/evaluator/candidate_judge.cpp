// SPDX-License-Identifier: Apache-2.0
#include "sandbox/evaluator/candidate_judge.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/median.hpp"
#include "sandbox/failure/retry_policy.hpp"
#include "sandbox/jail/jail.hpp"
#include "sandbox/judge/decision.hpp"
#include "sandbox/judge/evaluation.hpp"
#include "sandbox/judge/evidence.hpp"
#include "sandbox/profile/baseline_kernels.hpp"
#include "sandbox/profile/profile.hpp"
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

/// Without the candidate's own words and numbers, which might reveal the sizes: only its class is
/// reported.
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

/// A candidate can evade the rule that it launches only its own kernels, so trust in a pass under
/// that rule is lowered.
TrustClass trust_of(const Verdict& verdict, const ContractEntry& entry, const Candidate& candidate,
                    const EvaluationOutcome& outcome) {
  if (outcome.numerics == Numerics::paper) return TrustClass::paper;
  const auto& stage = outcome.stage;
  const bool within_share = !stage || stage->within_share;
  if (!is_full_jail(verdict.jail, entry.jail) || !within_share) return TrustClass::lowered;
  if (candidate.reviews_kernels()) return TrustClass::lowered;
  return entry.trust;
}

/// False if times come only from the clock: other work on the core may have spoilt them.
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

using std::chrono::milliseconds;
using std::chrono::seconds;

// The verdict exists already: it waits no longer than this for a profile, and still reaches its
// caller.
constexpr seconds profile_patience{60}, answer_reserve{3};

Deadline profile_deadline(Deadline deadline) {
  const auto left = deadline.left() - answer_reserve;
  return Deadline::after(std::clamp<milliseconds>(left, milliseconds{0}, profile_patience));
}

/// The kernels that a right candidate runs on the GPU, next to those of the baselines: for the
/// contract's rules, and for the request `profile`.
class KernelReview {
 public:
  KernelReview(Slot& slot, TaskCache& tasks, const JudgedCandidate& judged)
      : slot_(slot), tasks_(tasks), judged_(judged) {}

  /// Whether the slot has a GPU, and the request or the contract wants to see the kernels of what
  /// passed.
  bool is_wanted(const Verdict& verdict) const {
    const bool asked =
        judged_.request.want == Request::profile || judged_.candidate.reviews_kernels();
    return slot_.gpu() != nullptr && asked && verdict.correct();
  }

  /// Records one call of the candidate and of each baseline and adds what that shows to the
  /// verdict. Requires `is_wanted`. Fails if the device is no longer healthy, or if a rule
  /// cannot be decided.
  OrFailure<void> apply(const IngestRecord& record, Verdict& verdict, Deadline deadline) {
    TRY(auto kernels, record_call(record, verdict, profile_deadline(deadline)));
    if (judged_.candidate.reviews_kernels()) {
      const CallKernels& eager = kernels.baselines.eager;
      if (eager.kernels.empty()) {
        return fail(ErrorCode::process_failed,
                    "custom_kernels_only: no kernels can be recorded here: " + eager.reason);
      }
      judged_.candidate.review_kernels(kernels.candidate, verdict);
    }
    if (judged_.request.want == Request::profile && verdict.correct()) {
      add_profile(record, std::move(kernels), verdict);
    }
    return {};
  }

 private:
  /// The kernels of one call of the candidate and of each baseline, or why they are unknown.
  struct ReviewedKernels {
    CallKernels candidate;
    BaselineKernels baselines;
  };

  OrFailure<ReviewedKernels> record_call(const IngestRecord& record, Verdict& verdict,
                                         Deadline deadline) {
    const Task& task = judged_.request.task;
    const PhaseClock clock(verdict.phase_ms, "profile");
    slot_.report(task.id + ": profiling");
    // All processes are warm before the lease, or starting them would show in the recorded times.
    const auto ready = tasks_.worker_with(judged_.request, record, deadline);
    const auto warm = judged_.contract.warm_up(deadline);
    const auto room = slot_.room_for(record, deadline);
    auto held = !warm   ? tl::unexpected(warm.error())
                : !room ? tl::unexpected(room.error())
                        : OrFailure<std::optional<DeviceLease>>{slot_.lease(deadline)};
    if (!held && judged_.candidate.reviews_kernels())
      return tl::unexpected(std::move(held.error()));
    if (!held) {
      const std::string& reason = held.error().message;
      return ReviewedKernels{{.reason = reason}, {{.reason = reason}, {.reason = reason}}};
    }
    // The baselines come first: a candidate may take all the time that is left.
    BaselineKernels baselines = tasks_.baseline_kernels(task, ready, deadline);
    TRY(auto candidate, candidate_kernels(deadline));
    if (*held) verdict.device_held_ms = verdict.device_held_ms.value_or(0) + (*held)->held_ms();
    return ReviewedKernels{std::move(candidate), std::move(baselines)};
  }

  OrFailure<CallKernels> candidate_kernels(Deadline deadline) {
    const uint64_t free_before = slot_.gpu()->free_memory();
    auto recorded = judged_.candidate.record(slot_.place(), deadline);
    if (recorded) return recorded;
    TRY_VOID(slot_.gpu()->check_health(free_before, deadline));
    const bool by_candidate = recorded.error().blame == Blame::candidate;
    if (judged_.candidate.reviews_kernels() && !by_candidate) return recorded;
    return CallKernels{.reason = std::move(recorded.error().message)};
  }

  /// Into feedback and evidence; the class stays.
  void add_profile(const IngestRecord& record, ReviewedKernels kernels, Verdict& verdict) const {
    const Profile profile{.candidate = std::move(kernels.candidate),
                          .eager = std::move(kernels.baselines.eager),
                          .compiled = std::move(kernels.baselines.compiled),
                          .self_recorded = judged_.entry.staged,
                          .limits = slot_.gpu()->device_limits(),
                          .machine = slot_.machine().limits,
                          .timed = verdict.shapes.front(),
                          .call_bytes = record.facts.bytes_moved,
                          .call_flops = record.facts.flops};
    verdict.feedback += '\n' + profile_text(profile);
    verdict.evidence = with_profile(verdict.evidence, profile);
  }

  Slot& slot_;
  TaskCache& tasks_;
  const JudgedCandidate& judged_;
};

}  // namespace

void BaselineHistory::compare(const std::string& task_key, Timings& timings, int least_blocks) {
  std::vector<double> eager, compiled;
  for (const TimedBlock& block : timings.blocks) {
    eager.push_back(measurable(block.eager_ms));
    compiled.push_back(measurable(block.compile_ms));
  }
  const bool whole = std::ssize(eager) >= least_blocks;
  if (whole) {
    eager_.add(task_key, median(eager));
    compiled_.add(task_key, median(compiled));
  }
  timings.eager_scatter = eager_.scatter();
  timings.compile_scatter = compiled_.scatter();
  for (FurtherTimed& timed : timings.further) {
    if (!timed.reason.empty()) continue;
    Reproducibility& between = further_[timed.which];
    if (whole) between.add(task_key, median(times_of(timed.which, timings.blocks)));
    timed.scatter = between.scatter();
  }
}

OrFailure<CandidateJudge::ReadySlot> CandidateJudge::ready_for(const Run& run, Deadline deadline) {
  TRY(auto worker, tasks_.worker_with(run.request, run.record, deadline));
  ReadySlot ready{.worker = worker};
  TRY(ready.room, slot_.room_for(run.record, deadline));
  TRY(auto bench, slot_.bench_of(run.request.task, run.record, deadline));
  ready.bench = bench;
  TRY_VOID(judged_.contract.warm_up(deadline));
  if (!judged_.entry.staged) return ready;
  TRY(auto stage, slot_.stage());
  ready.stage = stage;
  return ready;
}

EvaluationJob CandidateJudge::job_of(const Run& run, const ReadySlot& ready) {
  GpuSlot* const gpu = slot_.gpu();
  const CandidatePlace place{*ready.bench, ready.stage};
  Candidate& candidate = run.candidate;
  EvaluationJob job{
      .task = run.request.task,
      .record = run.record,
      .bench = *ready.bench,
      .seed = run.seed,
      .worker = *ready.worker,
      .settings = slot_.options().settings,
      .start_candidate = [&candidate, place](Deadline by) { return candidate.start(place, by); },
      .lease = [this](Deadline by) { return slot_.lease(by); },
      .check_device = slot_.device_check(),
      .on_device = gpu != nullptr,
      .stage = ready.stage,
      .timed = is_timed(run.request),
      .further = &tasks_.further_of(run.request.task, run.record),
      .own = &judged_.own,
      .contents_before = first_contents[static_cast<size_t>(run.part)]};
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
  slot_.report(run.request.task.id +
               (is_timed(run.request) ? ": verifying and timing" : ": verifying"));
  auto outcome = run_evaluation(job_of(run, *ready), deadline);
  if (outcome) outcome->phase_ms.merge(phases);
  return outcome;
}

Decision CandidateJudge::decide_on(const Run& run, EvaluationOutcome& outcome) {
  const SandboxSettings& settings = slot_.options().settings;
  if (auto& timings = outcome.measured.timings) {
    baselines_.compare(task_key(run.request.task), *timings,
                       static_cast<int>(settings.timed_blocks));
  }
  RandomStream random(run.seed.seed, "bootstrap");
  Decision decision = decide(outcome.measured, run.record.facts, wanted_sets(settings), random);
  if (settings.numerics == Numerics::paper) {
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
  TRY(auto record, tasks_.ragged_record_of(*ragged, deadline));
  HiddenResult result;
  auto candidate = judged_.candidate.for_sizes(*ragged, record->facts.signature);
  if (!candidate) {
    result.decision.outcome = candidate.error().failure.value_or(VerdictClass::compile_error);
    result.decision = concealed(std::move(result.decision));
    return result;
  }
  EvaluateRequest request = untimed(judged_.request);
  request.task = std::move(*ragged);
  const Run run{request, *record, **candidate, seed, Part::hidden};
  TRY(auto outcome, attempt(run, deadline));
  result.outcome = std::move(outcome);
  result.decision = concealed(decide_on(run, result.outcome));
  return result;
}

OrFailure<CandidateJudge::Trial> CandidateJudge::try_shown(const Run& run, Deadline deadline) {
  TRY(auto outcome, attempt(run, deadline));
  Trial trial{.shown = std::move(outcome)};
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
  TRY(auto hidden, verify_hidden(seed, deadline));
  const bool wrong_when_hidden = hidden && hidden->decision.outcome != VerdictClass::passed;
  OrFailure<Trial> trial = Trial{};
  if (is_timed(judged_.request) && !wrong_when_hidden) {
    TRY(const auto compiled, tasks_.has_compiled(judged_.request.task, deadline));
    if (!compiled) trial = try_first(record, seed, deadline);
  }
  if (trial && !trial->ends_here) {
    const EvaluateRequest request = wrong_when_hidden ? untimed(judged_.request) : judged_.request;
    trial = try_shown({request, record, judged_.candidate, seed}, deadline);
  }
  if (trial) trial->hidden = std::move(hidden);
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
  verdict.jail = std::move(trial.shown.jail);
  verdict.trust = trust_of(verdict, judged_.entry, judged_.candidate, trial.shown);
  const bool paper = slot_.options().settings.numerics == Numerics::paper;
  if (verdict.correct()) {
    verdict.weakness = paper ? run.record.weakness : run.record.facts.insensitive;
  }
  if (paper) {
    if (verdict.correct()) {
      verdict.strict =
          both(trial.decision.strict, trial.hidden ? &trial.hidden->decision : nullptr);
    }
    verdict.feedback += paper_note(verdict);
  }
  verdict.shapes = {std::move(trial.decision.shape)};
  verdict.device_held_ms = trial.shown.device_held_ms;
  if (trial.hidden) add_hidden(verdict, trial.hidden->decision, trial.hidden->outcome);
  verdict.evidence = evidence_json(trial.shown, run.record, run.seed, slot_.machine(),
                                   trial.hidden ? &trial.hidden->outcome : nullptr);
  KernelReview review(slot_, tasks_, judged_);
  if (review.is_wanted(verdict)) {
    TRY_VOID(review.apply(run.record, verdict, deadline));
  }
  return verdict;
}

OrFailure<Verdict> CandidateJudge::judge(Verdict verdict, Deadline deadline) {
  const Task& task = judged_.request.task;
  TRY(auto record, tasks_.record_of(task, deadline));
  const FurtherBaselines& wanted = tasks_.further_of(task, *record);
  RetryPolicy policy(wanted.left().size());
  while (true) {
    TRY(const auto seed, draw_seed());
    auto trial = try_once(*record, seed, deadline);
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
      if (policy.after(failed) == RetryDecision::retry) continue;
    }
    if (!trial) return tl::unexpected(named(std::move(trial.error()), task));
    if (unstable && !settles(*trial)) {
      verdict.outcome = trial->decision.outcome;
      verdict.feedback = std::move(trial->decision.feedback);
      return verdict;
    }
    const Run run{judged_.request, *record, judged_.candidate, seed};
    return conclude(std::move(verdict), std::move(*trial), run, deadline);
  }
}

}  // namespace warpsmith::sandbox
