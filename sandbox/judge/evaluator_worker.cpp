// SPDX-License-Identifier: Apache-2.0
// The reference worker's part of an evaluation: tasks measured and loaded, kernels judged.
#include <algorithm>

#include "runtime/log.hpp"
#include "sandbox/commit/contestant.hpp"
#include "sandbox/judge/evaluator_state.hpp"
#include "sandbox/judge/evidence.hpp"
#include "sandbox/judge/host_review.hpp"
#include "sandbox/judge/phase_clock.hpp"
#include "sandbox/reference/ragged.hpp"
#include "sandbox/timing/bootstrap.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr std::chrono::seconds worker_start_patience{120};  // importing torch on a loaded machine
constexpr int loading_share = 5;  // of the time for an ingest, one part is for loading the task

constexpr const char* paper_note = " (numerics paper: within 1e-2 + 1e-2 |y|)";

bool is_timed(const EvaluateRequest& request) {
  return request.want == Request::profile || request.want == Request::final;
}

/// What verifying hidden shapes adds to the record.
void add_hidden(Verdict& verdict, const RaggedResult& ragged) {
  verdict.shapes.push_back(ragged.decision.shape);
  double& took = verdict.phase_ms["hidden_shapes"];
  for (const auto& [name, ms] : ragged.outcome.phase_ms) took += ms;
  if (!ragged.outcome.device_held_ms) return;
  verdict.device_held_ms = verdict.device_held_ms.value_or(0) + *ragged.outcome.device_held_ms;
}

EvaluateRequest untimed(EvaluateRequest request) {
  request.want = Request::verify;
  return request;
}

/// Its process died, hung, or was refused by the device.
bool ended_badly(const Measurements& measured) {
  return measured.early || (measured.timings && measured.timings->fault) ||
         std::ranges::any_of(measured.sets,
                             [](const VerifiedSet& set) { return set.fault.has_value(); });
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

Result<ReferenceWorker*> Evaluator::State::ready_worker(Deadline deadline) {
  if (worker && worker->alive()) return &*worker;
  worker.reset();
  tell("starting the reference worker");
  const auto patience = std::min<std::chrono::milliseconds>(deadline.left(), worker_start_patience);
  WorkerOptions wanted{.python = options.python,
                       .folder = options.worker_folder,
                       .cache_folder = options.cache_folder,
                       .core = options.core};
  if (gpu) wanted.gpu = gpu->access();
  auto started = ReferenceWorker::start(wanted, Deadline::after(patience));
  if (!started) return tl::unexpected(started.error());
  worker.emplace(std::move(*started));
  return &*worker;
}

/// From the worker at hand. A further baseline that is dropped with it costs a fresh one, no try.
Result<IngestRecord> Evaluator::State::ingested(const Task& task, IngestScope scope,
                                                Deadline deadline) {
  FurtherBaselines& wanted = further_of(task);
  const size_t before = wanted.left().size();
  const IngestJob job{.worker = *worker,
                      .machine = machine,
                      .task = task,
                      .progress = progress,
                      .make_bench = [this](const TaskSignature& s) { return make_bench(s); },
                      .lease = [this](Deadline by) { return lease(by); },
                      .scope = scope,
                      .on_device = gpu != nullptr,
                      .budget = options.ingest_timeout,
                      .further = &wanted};
  auto record = ingest_task(job, deadline);
  if (record || wanted.left().size() == before) return record;
  worker.reset();  // its state is unknown
  auto fresh = ready_worker(deadline);
  return fresh ? ingested(task, scope, deadline) : tl::unexpected(std::move(fresh.error()));
}

/// One try, or the last. Where the fault can only be the task's own the code is `invalid_argument`:
/// it outlasts what an ingest may take, or ended a fresh worker too.
Result<IngestRecord> Evaluator::State::measure(const Task& task, IngestScope scope,
                                               Deadline deadline, bool last) {
  auto ready = ready_worker(deadline);
  if (!ready) return tl::unexpected(ready.error());
  const std::vector<Baseline> further =
      scope == IngestScope::whole ? options.further : std::vector<Baseline>{};
  const std::string key = record_key(task, machine.key(), (*ready)->stack(), scope, further);
  if (auto known = read_record(facts_folder(), key)) return std::move(*known);
  auto record = ingested(task, scope, deadline);
  if (!record) {
    Error why = named(record.error(), task);
    const bool too_long = why.code == ErrorCode::timeout && !deadline.passed();
    if (too_long) {
      why.message += "; sandbox.limits.ingest is " +
                     std::to_string(options.ingest_timeout.count() / 1000) +
                     " s, a fifth of it for loading";
    }
    const bool ended = !worker || !worker->alive();
    if (too_long || (last && ended)) why.code = ErrorCode::invalid_argument;
    worker.reset();  // its state is unknown
    return tl::unexpected(std::move(why));
  }
  if (auto written = write_record(facts_folder(), key, *record); !written) {
    log::warn("kept in memory alone: " + written.error().message);
  }
  return record;
}

Result<const IngestRecord*> Evaluator::State::record_of(const Task& task, Deadline deadline) {
  auto shown = record_of(task, IngestScope::whole, deadline);
  const auto ragged = ragged_task(task);
  if (!shown || !ragged) return shown;
  if (auto fit = ragged_record_of(*ragged, **shown, deadline); !fit) {
    return tl::unexpected(named(std::move(fit.error()), task));
  }
  return shown;
}

Result<const IngestRecord*> Evaluator::State::record_of(const Task& task, IngestScope scope,
                                                        Deadline deadline) {
  const std::string key = task_key(task);
  auto found = records.find(key);
  if (found == records.end()) {
    auto record = measure(task, scope, deadline, false);
    // A worker that died may have been another task's fault: one more try with a fresh one.
    const bool ours = !record && record.error().code != ErrorCode::invalid_argument;
    if (ours && !deadline.passed()) record = measure(task, scope, deadline, true);
    if (!record) return tl::unexpected(record.error());
    found = records.emplace(key, std::move(*record)).first;
  }
  if (!found->second.refusal.empty()) {
    return tl::unexpected(named({ErrorCode::invalid_argument, found->second.refusal}, task));
  }
  return &found->second;
}

/// One try, or the last, judged as in `measure`.
Result<TaskSignature> Evaluator::State::load_signature(const Task& task, Deadline deadline,
                                                       bool last) {
  auto ready = ready_worker(deadline);
  if (!ready) return tl::unexpected(ready.error());
  tell(task.id + ": loading the task");
  const auto patience = std::min(deadline.left(), options.ingest_timeout / loading_share);
  auto loaded = (*ready)->signature(task, Deadline::after(patience));
  if (loaded) return loaded;
  Error why = named(loaded.error(), task);
  if (why.code == ErrorCode::invalid_argument) return tl::unexpected(std::move(why));
  const bool too_long = why.code == ErrorCode::timeout && !deadline.passed();
  if (too_long || (last && !(*ready)->alive())) why.code = ErrorCode::invalid_argument;
  worker.reset();  // its state is unknown
  return tl::unexpected(std::move(why));
}

Result<const TaskSignature*> Evaluator::State::signature_of(const Task& task, Deadline deadline) {
  const std::string key = task_key(task);
  auto found = signatures.find(key);
  if (found == signatures.end()) {
    auto loaded = load_signature(task, deadline, false);
    const bool ours = !loaded && loaded.error().code != ErrorCode::invalid_argument;
    if (ours && !deadline.passed()) loaded = load_signature(task, deadline, true);
    if (!loaded) return tl::unexpected(std::move(loaded.error()));
    found = signatures.emplace(key, std::move(*loaded)).first;
  }
  return &found->second;
}

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
  const std::string key = task_key(task);
  if (bench && bench_key == key) return bench.get();
  stage.reset();
  bench.reset();
  auto made = make_bench(signature);
  if (!made) return tl::unexpected(made.error());
  bench_key = key;
  bench = std::move(*made);
  return bench.get();
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

/// The worker holds the task, and its compiled and further baselines where those are to be timed:
/// the first time in a worker's life that takes seconds.
Result<ReferenceWorker*> Evaluator::State::worker_with(const EvaluateRequest& request,
                                                       const IngestRecord& record,
                                                       Deadline deadline) {
  auto ready = ready_worker(deadline);
  if (!ready) return ready;
  auto loaded = (*ready)->load(request.task, deadline);
  if (!loaded) return tl::unexpected(loaded.error());
  if (!is_timed(request)) return ready;
  const bool first = !loaded->compiled;
  if (first) {
    tell(request.task.id + ": torch.compile, for this process's first timing");
    auto compiled = (*ready)->compile(request.task, Baseline::compiled, deadline);
    if (!compiled) return tl::unexpected(compiled.error());
  }
  FurtherBaselines& wanted = further_of(request.task, record);
  auto made = make_ready(**ready, request.task, wanted, deadline, first ? progress : Progress{});
  if (!made) return tl::unexpected(std::move(made.error()));
  return ready;
}

Result<EvaluationOutcome> Evaluator::State::attempt(const EvaluateRequest& request,
                                                    const IngestRecord& record,
                                                    const CandidateRun& run, const SecretSeed& seed,
                                                    uint64_t contents_before, Deadline deadline) {
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
  const auto shown = stage_for(run);
  if (!shown) return tl::unexpected(shown.error());
  const EvaluationJob job{.task = request.task,
                          .record = record,
                          .bench = **laid_out,
                          .seed = seed,
                          .worker = **ready,
                          .start_candidate = [&](Deadline by) { return run.start(**laid_out, by); },
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
                          .contents_before = contents_before,
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
  // Beside the next submission's compilation.
  if (auto begun = gpu ? gpu->begin_warming() : Result<void>{}; !begun) {
    return tl::unexpected(begun.error());
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
    auto outcome =
        ragged ? attempt(wrong ? untimed(request) : request, **record, run, *seed, 0, deadline)
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
