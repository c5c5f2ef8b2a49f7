// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/evaluator.hpp"

#include <algorithm>
#include <map>

#include "runtime/checksum.hpp"
#include "runtime/log.hpp"
#include "runtime/median.hpp"
#include "sandbox/commit/contestant.hpp"
#include "sandbox/compile/cpu_compiler.hpp"
#include "sandbox/judge/evaluation.hpp"
#include "sandbox/judge/evidence.hpp"
#include "sandbox/judge/phase_clock.hpp"
#include "sandbox/reference/ingest.hpp"
#include "sandbox/timing/bootstrap.hpp"
#include "sandbox/timing/machine.hpp"
#include "sandbox/timing/reproducibility.hpp"
#include "sandbox/workspace/solution.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr std::chrono::seconds worker_start_patience{120};  // importing torch on a loaded machine

bool is_timed(const EvaluateRequest& request) {
  return request.want == Request::profile || request.want == Request::final;
}

CompilerOptions compiler_options(const EvaluatorOptions& options) {
  CompilerOptions compile{.cache_dir = options.cache_folder + "/compiled",
                          .cache_bytes = options.compile_cache_bytes,
                          .source_bytes = options.source_bytes,
                          .message_bytes = options.message_bytes,
                          .timeout = options.compile_timeout};
  compile.limits.processes = options.compile_tasks;
  compile.limits.cgroup_required = options.require_cgroups;
  return compile;
}

JailLimits candidate_limits(const EvaluatorOptions& options) {
  return {.memory_bytes = options.candidate_memory_bytes,
          .cgroup_required = options.require_cgroups};
}

Error named(Error error, const Task& task) {
  error.message = (task.source.empty() ? task.id : task.source) + ": " + error.message;
  return error;
}

InfraFailure infra_of(const Error& error, InfraKind otherwise) {
  switch (error.code) {
    case ErrorCode::timeout:
      return {InfraKind::deadline, error.message};
    case ErrorCode::unsupported:
      return {InfraKind::jail_unavailable, error.message};
    case ErrorCode::disk_full:
    case ErrorCode::io_failed:
      return {InfraKind::disk, error.message};
    case ErrorCode::process_failed:
      return {InfraKind::sandbox_lost, error.message};
    case ErrorCode::invalid_argument:
      return {InfraKind::task_refused, error.message};
    default:
      return {otherwise, error.message};
  }
}

}  // namespace

struct Evaluator::State {
  EvaluatorOptions options;
  CpuCompiler compiler;
  Machine machine;
  Progress progress;  // of the call in hand
  std::optional<ReferenceWorker> worker;
  std::map<std::string, IngestRecord> records;  // by content hash
  BenchMemory bench_memory;
  std::string bench_key;                            // content hash of the task that `bench` is for
  std::optional<Bench> bench;                       // of the last task
  Reproducibility eager_between, compiled_between;  // evaluations on this slot

  State(EvaluatorOptions o, CpuCompiler c, Machine m)
      : options(std::move(o)), compiler(std::move(c)), machine(std::move(m)) {}

  std::string facts_folder() const { return options.cache_folder + "/facts"; }

  Result<ReferenceWorker*> ready_worker(Deadline deadline);
  Result<const IngestRecord*> record_of(const Task& task, Deadline deadline);
  Result<IngestRecord> measure(const Task& task, Deadline deadline, bool last);
  Result<const Bench*> bench_of(const Task& task, const TaskSignature& signature);
  Result<ReferenceWorker*> worker_with(const EvaluateRequest& request, Deadline deadline);
  Result<EvaluationOutcome> attempt(const EvaluateRequest& request, const IngestRecord& record,
                                    const std::string& artefact, const SecretSeed& seed,
                                    Deadline deadline);
  Judgement judge(const EvaluateRequest& request, Verdict verdict, const std::string& artefact,
                  Deadline deadline);
  void compare_with_earlier(const Task& task, Timings& timings);
};

Result<ReferenceWorker*> Evaluator::State::ready_worker(Deadline deadline) {
  if (worker && worker->alive()) return &*worker;
  worker.reset();
  if (progress) progress("starting the reference worker");
  const auto patience = std::min<std::chrono::milliseconds>(deadline.left(), worker_start_patience);
  auto started = ReferenceWorker::start(
      {options.python, options.worker_folder, options.cache_folder, options.core},
      Deadline::after(patience));
  if (!started) return tl::unexpected(started.error());
  worker.emplace(std::move(*started));
  return &*worker;
}

/// One try, or the last. Where the fault can only be the task's own the code is `invalid_argument`:
/// it outlasts what an ingest may take, or ended a fresh worker too.
Result<IngestRecord> Evaluator::State::measure(const Task& task, Deadline deadline, bool last) {
  auto ready = ready_worker(deadline);
  if (!ready) return tl::unexpected(ready.error());
  const std::string key = record_key(task, machine.key(), (*ready)->stack());
  if (auto known = read_record(facts_folder(), key)) return std::move(*known);
  const IngestJob job{**ready, machine, task, progress, options.ingest_timeout};
  auto record = ingest_task(job, deadline);
  if (!record) {
    Error why = named(record.error(), task);
    const bool too_long = why.code == ErrorCode::timeout && !deadline.passed();
    if (too_long) {
      why.message += "; sandbox.limits.ingest is " +
                     std::to_string(options.ingest_timeout.count() / 1000) +
                     " s, a fifth of it for loading";
    }
    if (too_long || (last && !(*ready)->alive())) why.code = ErrorCode::invalid_argument;
    worker.reset();  // its state is unknown
    return tl::unexpected(std::move(why));
  }
  if (auto written = write_record(facts_folder(), key, *record); !written) {
    log::warn("kept in memory alone: " + written.error().message);
  }
  return record;
}

Result<const IngestRecord*> Evaluator::State::record_of(const Task& task, Deadline deadline) {
  const std::string key = sha256_hex(task.code);
  auto found = records.find(key);
  if (found == records.end()) {
    auto record = measure(task, deadline, false);
    // A worker that died may have been another task's fault: one more try with a fresh one.
    const bool ours = !record && record.error().code != ErrorCode::invalid_argument;
    if (ours && !deadline.passed()) record = measure(task, deadline, true);
    if (!record) return tl::unexpected(record.error());
    found = records.emplace(key, std::move(*record)).first;
  }
  if (!found->second.refusal.empty()) {
    return tl::unexpected(named({ErrorCode::invalid_argument, found->second.refusal}, task));
  }
  return &found->second;
}

Result<const Bench*> Evaluator::State::bench_of(const Task& task, const TaskSignature& signature) {
  const std::string key = sha256_hex(task.code);
  if (bench && bench_key == key) return &*bench;
  bench.reset();
  auto made = Bench::create(signature, bench_memory);
  if (!made) return tl::unexpected(made.error());
  bench_key = key;
  return &bench.emplace(std::move(*made));
}

/// The worker holds the task, and its compiled baseline where that is to be timed: the first time
/// in a worker's life that takes seconds.
Result<ReferenceWorker*> Evaluator::State::worker_with(const EvaluateRequest& request,
                                                       Deadline deadline) {
  auto ready = ready_worker(deadline);
  if (!ready) return ready;
  auto loaded = (*ready)->load(request.task, deadline);
  if (!loaded) return tl::unexpected(loaded.error());
  if (!is_timed(request) || loaded->compiled) return ready;
  if (progress) progress(request.task.id + ": torch.compile, for this process's first timing");
  auto compiled = (*ready)->compile(request.task, deadline);
  if (!compiled) return tl::unexpected(compiled.error());
  return ready;
}

Result<EvaluationOutcome> Evaluator::State::attempt(const EvaluateRequest& request,
                                                    const IngestRecord& record,
                                                    const std::string& artefact,
                                                    const SecretSeed& seed, Deadline deadline) {
  std::map<std::string, double> phases;
  Result<ReferenceWorker*> ready = nullptr;
  Result<const Bench*> laid_out = nullptr;
  {
    const PhaseClock clock(phases, "prepare");
    ready = worker_with(request, deadline);
    if (!ready) return tl::unexpected(ready.error());
    laid_out = bench_of(request.task, record.facts.signature);
    if (!laid_out) return tl::unexpected(laid_out.error());
  }
  const EvaluationJob job{.task = request.task,
                          .record = record,
                          .bench = **laid_out,
                          .artefact = artefact,
                          .seed = seed,
                          .worker = **ready,
                          .runner = options.runner,
                          .core = options.core,
                          .limits = candidate_limits(options),
                          .call_timeout = options.call_timeout,
                          .verified_sets = options.verified_sets,
                          .timed_blocks = options.timed_blocks,
                          .timed = is_timed(request)};
  auto outcome = run_evaluation(job, deadline);
  if (outcome) outcome->phase_ms.merge(phases);
  return outcome;
}

void Evaluator::State::compare_with_earlier(const Task& task, Timings& timings) {
  std::vector<double> eager, compiled;
  for (const TimedBlock& block : timings.blocks) {
    eager.push_back(measurable(block.eager_ms));
    compiled.push_back(measurable(block.compile_ms));
  }
  const std::string key = sha256_hex(task.code);
  if (!eager.empty()) {
    eager_between.add(key, median(eager));
    compiled_between.add(key, median(compiled));
  }
  timings.eager_scatter = eager_between.scatter();
  timings.compile_scatter = compiled_between.scatter();
}

Judgement Evaluator::State::judge(const EvaluateRequest& request, Verdict verdict,
                                  const std::string& artefact, Deadline deadline) {
  auto record = record_of(request.task, deadline);
  if (!record) return infra_of(record.error(), InfraKind::reference_failed);
  for (int attempts = 0; attempts < 2; ++attempts) {
    auto seed = draw_seed();
    if (!seed) return infra_of(seed.error(), InfraKind::sandbox_lost);
    verdict.seed_commitment = seed->commitment(verdict.submission_hash);
    auto outcome = attempt(request, **record, artefact, *seed, deadline);
    if (!outcome) {
      worker.reset();  // its state is unknown
      if (attempts == 0 && !deadline.passed()) continue;
      return infra_of(named(outcome.error(), request.task), InfraKind::reference_failed);
    }
    for (const auto& [name, ms] : outcome->phase_ms) verdict.phase_ms[name] += ms;
    Decision decision;
    if (auto& timings = outcome->measured.timings) compare_with_earlier(request.task, *timings);
    {
      const PhaseClock clock(verdict.phase_ms, "decision");
      RandomStream random(seed->seed, "bootstrap");
      decision = decide(outcome->measured, (*record)->facts,
                        options.verified_sets + verified_dense_sets, random);
    }
    if (decision.outcome == VerdictClass::unstable_timing) {
      if (attempts == 0 && !deadline.passed()) continue;
      return InfraFailure{InfraKind::noise, decision.feedback};
    }
    verdict.outcome = decision.outcome;
    verdict.feedback = std::move(decision.feedback);
    verdict.shapes = {std::move(decision.shape)};
    verdict.jail = std::move(outcome->jail);
    verdict.trust = is_full_jail(verdict.jail) ? TrustClass::commit : TrustClass::lowered;
    verdict.evidence = evidence_json(*outcome, **record, *seed, machine);
    return verdict;
  }
  return InfraFailure{InfraKind::reference_failed, "no attempt succeeded"};
}

Evaluator::Evaluator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Evaluator::Evaluator(Evaluator&&) noexcept = default;
Evaluator& Evaluator::operator=(Evaluator&&) noexcept = default;
Evaluator::~Evaluator() = default;

Result<Evaluator> Evaluator::open(EvaluatorOptions options) {
  if (options.core && !CorePin(*options.core).in_force()) {
    return fail(ErrorCode::unsupported, "core " + std::to_string(*options.core) +
                                            " is not ours to use (sandbox.first_core)");
  }
  CompilerOptions compile = compiler_options(options);
  // While a slot compiles nothing is timed on it, so every core is free for that. A compiler that
  // works beside slots has none of its own and stays where the program was put.
  if (options.core) compile.core = -1;
  auto compiler = CpuCompiler::create(std::move(compile));
  if (!compiler) return tl::unexpected(compiler.error());
  Machine machine = known_machine(options.cache_folder);
  return Evaluator{
      std::make_unique<State>(std::move(options), std::move(*compiler), std::move(machine))};
}

Judgement Evaluator::evaluate(const EvaluateRequest& request, Deadline deadline,
                              const Progress& progress) {
  State& s = *state_;
  s.progress = progress;
  const std::optional<CorePin> pin =
      s.options.core ? std::optional<CorePin>(std::in_place, *s.options.core) : std::nullopt;
  Verdict verdict{.contract = request.submission.contract,
                  .submission_hash = source_hash(request.submission.files)};
  if (request.submission.contract != "cpu") {
    return InfraFailure{InfraKind::jail_unavailable,
                        "no such contract here: " + request.submission.contract};
  }
  Result<Compiled> compiled;
  {
    const PhaseClock clock(verdict.phase_ms, "compile");
    compiled = s.compiler.compile(request.submission.files, deadline);
  }
  if (!compiled) return infra_of(compiled.error(), InfraKind::sandbox_lost);
  if (compiled->failure) {
    verdict.outcome = *compiled->failure;
    verdict.feedback = std::string(to_string(verdict.outcome)) + ": " + compiled->text;
    verdict.jail = compiled->jail;
    return verdict;
  }
  if (request.want == Request::compile) {
    verdict.outcome = VerdictClass::passed;
    verdict.feedback = "compiled";
    verdict.jail = compiled->jail;
    return verdict;
  }
  return s.judge(request, std::move(verdict), compiled->artefact, deadline);
}

Result<TaskFacts> Evaluator::ingest(const Task& task, Deadline deadline, const Progress& progress) {
  State& s = *state_;
  s.progress = progress;
  const std::optional<CorePin> pin =
      s.options.core ? std::optional<CorePin>(std::in_place, *s.options.core) : std::nullopt;
  auto record = s.record_of(task, deadline);
  if (!record) return tl::unexpected(record.error());
  return (*record)->facts;
}

}  // namespace warpsmith::sandbox
