// SPDX-License-Identifier: Apache-2.0
// A candidate that was made ready is judged: what it runs on, tries, the decision.
#include <algorithm>

#include "sandbox/commit/contestant.hpp"
#include "sandbox/judge/evaluator_state.hpp"
#include "sandbox/judge/evidence.hpp"
#include "sandbox/judge/host_review.hpp"
#include "sandbox/judge/phase_clock.hpp"
#include "sandbox/timing/bootstrap.hpp"

namespace warpsmith::sandbox {
namespace {

/// Contents of an evaluation on hidden shapes are numbered from here on.
constexpr uint64_t hidden_contents = uint64_t{1} << 40U;

constexpr const char* paper_note = " (numerics paper: within 1e-2 + 1e-2 |y|)";

/// What verifying hidden shapes adds to the record.
void add_hidden(Verdict& verdict, const RaggedResult& ragged) {
  verdict.shapes.push_back(ragged.decision.shape);
  for (const auto& [name, ms] : ragged.outcome.phase_ms) verdict.phase_ms["hidden_" + name] += ms;
  if (!ragged.outcome.device_held_ms) return;
  verdict.device_held_ms = verdict.device_held_ms.value_or(0) + *ragged.outcome.device_held_ms;
}

EvaluateRequest untimed(EvaluateRequest request) {
  request.want = Request::verify;
  return request;
}

TrustClass trust_of(const Verdict& verdict, const CandidateRun& run,
                    const EvaluationOutcome& outcome) {
  if (outcome.numerics == Numerics::paper) return TrustClass::paper;
  const auto& stage = outcome.stage;
  const bool within_share = !stage || stage->within_share;
  if (!is_full_jail(verdict.jail, run.jail) || !within_share) return TrustClass::lowered;
  return run.jail == JailKind::launch ? TrustClass::device : TrustClass::commit;
}

}  // namespace

Result<std::unique_ptr<Bench>> Evaluator::State::make_bench(const TaskSignature& signature) {
  if (gpu) return gpu->make_bench(signature);
  auto made = HostBench::create(signature, bench_memory);
  if (!made) return tl::unexpected(made.error());
  return std::move(*made);
}

Result<std::optional<DeviceLease>> Evaluator::State::lease(Deadline deadline) {
  if (!gpu) return std::nullopt;
  auto held = gpu->lease(deadline);
  if (!held) return tl::unexpected(std::move(held.error()));
  return std::optional<DeviceLease>{std::move(*held)};
}

Result<Bench*> Evaluator::State::bench_of(const Task& task, const TaskSignature& signature) {
  make_room_for(task);
  if (bench) return bench.get();
  auto made = make_bench(signature);
  if (!made) return tl::unexpected(made.error());
  bench_key = task_key(task);
  bench = std::move(*made);
  return bench.get();
}

void Evaluator::State::make_room_for(const Task& task) {
  if (bench_key == task_key(task)) return;
  bench_key.clear();
  stage.reset();
  bench.reset();
  if (gpu) gpu->release_large_memory();
}

Result<void> Evaluator::State::warm_up(const CandidateRun& run, Deadline deadline) {
  if (run.staged) return warm_host_runner(deadline);
  return gpu ? gpu->warm_up(deadline) : Result<void>{};
}

Result<Stage*> Evaluator::State::stage_for(const CandidateRun& run) {
  if (!run.staged) return nullptr;
  if (!stage) {
    auto made = bench->make_stage();
    if (!made) return tl::unexpected(std::move(made.error()));
    stage = std::move(*made);
  }
  return stage.get();
}

Result<EvaluationOutcome> Evaluator::State::attempt(const EvaluateRequest& request,
                                                    const IngestRecord& record,
                                                    const CandidateRun& run, const SecretSeed& seed,
                                                    Shapes shapes, Deadline deadline) {
  std::map<std::string, double> phases;
  Result<ReferenceWorker*> ready = nullptr;
  Result<Bench*> laid_out = nullptr;
  {
    const PhaseClock clock(phases, "prepare");
    ready = worker_with(request, record, deadline);
    if (!ready) return tl::unexpected(ready.error());
    laid_out = bench_of(request.task, record.facts.signature);
    if (!laid_out) return tl::unexpected(laid_out.error());
    if (auto warm = warm_up(run, deadline); !warm) return tl::unexpected(warm.error());
  }
  const bool hidden = shapes == Shapes::hidden;
  const auto shown = stage_for(run);
  if (!shown) return tl::unexpected(shown.error());
  const EvaluationJob job{.task = request.task,
                          .record = record,
                          .bench = **laid_out,
                          .seed = seed,
                          .worker = **ready,
                          .start_candidate = [&](Deadline by) { return run.start(**laid_out, by); },
                          .keep_candidate = hidden ? run.keep : KeepCandidate{},
                          .lease = [this](Deadline by) { return lease(by); },
                          .on_device = gpu != nullptr,
                          .stage = *shown,
                          .call_timeout = options.call_timeout,
                          .verified_sets = options.verified_sets,
                          .timed_blocks = options.timed_blocks,
                          .timed = is_timed(request),
                          .further = &further_of(request.task, record),
                          .clocks = gpu ? gpu->clocks() : nullptr,
                          .no_clocks = gpu ? gpu->no_clocks() : "",
                          .contents_before = hidden ? hidden_contents : 0,
                          .numerics = options.numerics};
  tell(request.task.id + (job.timed ? ": verifying and timing" : ": verifying"));
  const uint64_t free_before = gpu ? gpu->free_memory() : 0;
  auto outcome = run_evaluation(job, deadline);
  if (!outcome) return outcome;
  outcome->phase_ms.merge(phases);
  if (gpu && ended_badly(outcome->measured)) {
    const PhaseClock clock(outcome->phase_ms, "health");
    if (auto well = gpu->check_health(free_before, deadline); !well) {
      return tl::unexpected(well.error());
    }
  }
  return outcome;
}

Decision Evaluator::State::decide_on(const EvaluateRequest& request, EvaluationOutcome& outcome,
                                     const IngestRecord& record, const CandidateRun& run,
                                     const SecretSeed& seed) {
  if (auto& timings = outcome.measured.timings) compare_with_earlier(request.task, *timings);
  RandomStream random(seed.seed, "bootstrap");
  Decision decision = decide(outcome.measured, record.facts,
                             wanted_sets(options.numerics, options.verified_sets), random);
  if (outcome.stage) {
    weigh_subtracted(*outcome.stage, decision.shape);
    if (run.review) run.review(*outcome.stage, decision);
  }
  return decision;
}

Judgement Evaluator::State::judge(const EvaluateRequest& request, Verdict verdict,
                                  const CandidateRun& run, Deadline deadline) {
  auto record = record_of(request.task, deadline);
  if (!record) return infra_of(record.error(), InfraKind::reference_failed);
  const FurtherBaselines& wanted = further_of(request.task, **record);
  // One more for each further baseline that is dropped with its worker.
  const int most = 2 + static_cast<int>(wanted.left().size());
  for (int attempts = 0; attempts < most; ++attempts) {
    const size_t before = wanted.left().size();
    auto seed = draw_seed();
    if (!seed) return infra_of(seed.error(), InfraKind::sandbox_lost);
    verdict.seed_commitment = seed->commitment(verdict.submission_hash);
    // On hidden shapes first: what is wrong there need not be timed.
    auto ragged = verify_ragged(request, run, *seed, deadline);
    const bool wrong = ragged && *ragged && (*ragged)->decision.outcome != VerdictClass::passed;
    auto outcome = ragged ? attempt(wrong ? untimed(request) : request, **record, run, *seed,
                                    Shapes::shown, deadline)
                          : tl::unexpected(ragged.error());
    if (!outcome) {
      worker.reset();  // its state is unknown
      const bool again = attempts == 0 || wanted.left().size() < before;
      if (again && !deadline.passed()) continue;
      return infra_of(named(outcome.error(), request.task), InfraKind::reference_failed);
    }
    for (const auto& [name, ms] : outcome->phase_ms) verdict.phase_ms[name] += ms;
    Decision decision;
    {
      const PhaseClock clock(verdict.phase_ms, "decision");
      decision = decide_on(request, *outcome, **record, run, *seed);
    }
    if (decision.outcome == VerdictClass::unstable_timing) {
      if (attempts == 0 && !deadline.passed()) continue;
      return InfraFailure{InfraKind::noise, decision.feedback};
    }
    const bool only_there = wrong && decision.outcome == VerdictClass::passed;
    verdict.outcome = only_there ? (*ragged)->decision.outcome : decision.outcome;
    verdict.feedback = only_there ? (*ragged)->decision.feedback : std::move(decision.feedback);
    if (options.numerics == Numerics::paper) verdict.feedback += paper_note;
    verdict.shapes = {std::move(decision.shape)};
    verdict.jail = std::move(outcome->jail);
    verdict.trust = trust_of(verdict, run, *outcome);
    verdict.device_held_ms = outcome->device_held_ms;
    if (*ragged) add_hidden(verdict, **ragged);
    verdict.evidence =
        evidence_json(*outcome, **record, *seed, machine, *ragged ? &(*ragged)->outcome : nullptr);
    if (gpu && request.want == Request::profile && verdict.correct()) {
      const auto profiled = add_profile(request, **record, run, verdict, deadline);
      if (!profiled) return infra_of(profiled.error(), InfraKind::sandbox_lost);
    }
    return verdict;
  }
  return InfraFailure{InfraKind::reference_failed, "no attempt succeeded"};
}

}  // namespace warpsmith::sandbox
