// SPDX-License-Identifier: Apache-2.0
// Routes a submission by its contract: compile, then judge.
#include "sandbox/evaluator/evaluator.hpp"

#include "sandbox/contract/cpu/cpu_contestant.hpp"
#include "sandbox/device/lease.hpp"
#include "sandbox/evaluator/evaluator_state.hpp"
#include "sandbox/judge/phase_clock.hpp"
#include "sandbox/timing/core_time.hpp"
#include "sandbox/workspace/source_hash.hpp"

namespace warpsmith::sandbox {
namespace {

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

/// Of a candidate that let the deadline pass by its own slowness.
Verdict timed_out(Verdict verdict, const OwnTime& own) {
  return failing(std::move(verdict), failed_compiling(VerdictClass::timeout, own.text()));
}

/// It must be ours to run on, and to take turns for with the slots of other runs.
Result<void> check_core(int core) {
  if (!CorePin(core).in_force()) {
    return fail(ErrorCode::unsupported,
                "core " + std::to_string(core) + " is not ours to use (sandbox.first_core)");
  }
  const auto turns = open_lease(machine_leases, core_device(core));
  return turns ? Result<void>{} : tl::unexpected(turns.error());
}

JailLimits candidate_limits(const EvaluatorOptions& options) {
  return {.memory_bytes = options.candidate_memory_bytes,
          .cgroup_required = options.require_cgroups};
}

}  // namespace

Verdict failing(Verdict verdict, const Compiled& failed) {
  verdict.outcome = *failed.failure;
  verdict.feedback = std::string(to_string(verdict.outcome)) + ": " + failed.text;
  return verdict;
}

Verdict passing(Verdict verdict, std::string feedback) {
  verdict.outcome = VerdictClass::passed;
  verdict.feedback = std::move(feedback);
  return verdict;
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

Evaluator::Evaluator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Evaluator::Evaluator(Evaluator&&) noexcept = default;
Evaluator& Evaluator::operator=(Evaluator&&) noexcept = default;
Evaluator::~Evaluator() = default;

Result<Evaluator> Evaluator::open(EvaluatorOptions options) {
  if (options.core) {
    if (auto usable = check_core(*options.core); !usable) return tl::unexpected(usable.error());
  }
  CompilerOptions compile = compiler_options(options);
  // While a slot compiles nothing is timed on it, so every core is free for that. A compiler that
  // works beside slots has none of its own and stays where the program was put.
  if (options.core) compile.core = -1;
  auto compiler = CpuCompiler::create(std::move(compile));
  if (!compiler) return tl::unexpected(compiler.error());
  std::unique_ptr<GpuSlot> gpu;
  if (options.gpu) {
    auto opened = GpuSlot::open({.gpu = *options.gpu,
                                 .program = options.runner,
                                 .python = options.python,
                                 .cache_folder = options.cache_folder,
                                 .core = options.core,
                                 .require_cgroups = options.require_cgroups});
    if (!opened) return tl::unexpected(std::move(opened.error()));
    gpu = std::move(*opened);
  }
  Machine machine = gpu ? gpu->machine() : known_machine(options.cache_folder);
  return Evaluator{std::make_unique<State>(std::move(options), std::move(*compiler), std::move(gpu),
                                           std::move(machine))};
}

Judgement Evaluator::State::evaluate_cpu(const EvaluateRequest& request, Verdict verdict,
                                         Deadline deadline) {
  if (request.want == Request::explain) {
    return InfraFailure{InfraKind::jail_unavailable, "contract cpu has no plan to explain"};
  }
  Result<Compiled> compiled;
  {
    const PhaseClock clock(verdict.phase_ms, "compile");
    const OwnClock compiling(counted());
    compiled = compiler.compile(request.submission.files, deadline);
  }
  if (!compiled) return infra_of(compiled.error(), InfraKind::sandbox_lost);
  const bool ends = compiled->failure || request.want == Request::compile;
  if (ends) verdict.jail = compiled->jail;
  if (compiled->failure) return failing(std::move(verdict), *compiled);
  if (ends) return passing(std::move(verdict), "compiled");
  const auto start = [&](const Bench& on, Deadline by) {
    const CpuContestantSpec spec{.runner = options.runner,
                                 .artefact = compiled->artefact,
                                 .dims = on.signature().dims,
                                 .memory = on.candidate_memory(),
                                 .core = options.core,
                                 .limits = candidate_limits(options)};
    return start_cpu_contestant(spec, by);
  };
  // The extents come with the bench.
  const auto for_sizes = [&](const Task&, const TaskSignature&) { return StartCandidate(start); };
  return judge(request, std::move(verdict), {.start = start, .for_sizes = for_sizes}, deadline);
}

Judgement Evaluator::State::evaluate(const EvaluateRequest& request, Verdict verdict,
                                     Deadline deadline) {
  if (verdict.contract == "cpu") return evaluate_cpu(request, std::move(verdict), deadline);
  if (verdict.contract == "device") return evaluate_device(request, std::move(verdict), deadline);
  if (verdict.contract == "host") return evaluate_host(request, std::move(verdict), deadline);
  return InfraFailure{InfraKind::jail_unavailable, "no such contract here: " + verdict.contract};
}

Judgement Evaluator::evaluate(const EvaluateRequest& request, Deadline deadline,
                              const Progress& progress) {
  State& s = *state_;
  s.begin(progress);
  const std::optional<CorePin> pin =
      s.options.core ? std::optional<CorePin>(std::in_place, *s.options.core) : std::nullopt;
  Verdict verdict{.contract = request.submission.contract,
                  .submission_hash = source_hash(request.submission.files)};
  s.own.emplace(deadline, s.options.call_timeout);
  s.rest_host_runner(deadline);
  s.tell(request.task.id + ": compiling");
  Judgement judgement = s.evaluate(request, verdict, deadline);
  const auto* failure = std::get_if<InfraFailure>(&judgement);
  const bool late = failure != nullptr && failure->kind == InfraKind::deadline;
  if (late && s.own->caused_timeout()) return timed_out(std::move(verdict), *s.own);
  return judgement;
}

Result<TaskFacts> Evaluator::ingest(const Task& task, Deadline deadline, const Progress& progress) {
  State& s = *state_;
  s.begin(progress);
  const std::optional<CorePin> pin =
      s.options.core ? std::optional<CorePin>(std::in_place, *s.options.core) : std::nullopt;
  s.rest_host_runner(deadline);
  auto record = s.record_of(task, deadline);
  if (!record) return tl::unexpected(record.error());
  return (*record)->facts;
}

}  // namespace warpsmith::sandbox
