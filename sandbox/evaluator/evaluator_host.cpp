// SPDX-License-Identifier: Apache-2.0
// Contract `host`: the submission's files read, its extension built, its own process run.
#include <algorithm>

#include "runtime/log.hpp"
#include "runtime/task_options.hpp"
#include "sandbox/compile/cuda_toolchain.hpp"
#include "sandbox/contract/host/host_hints.hpp"
#include "sandbox/contract/host/host_review.hpp"
#include "sandbox/contract/host/python_syntax.hpp"
#include "sandbox/evaluator/evaluator_state.hpp"
#include "sandbox/judge/phase_clock.hpp"
#include "sandbox/profile/record_file.hpp"
#include "sandbox/reference/ragged.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr std::chrono::seconds runner_patience{120};  // importing torch on a loaded machine
// torch's headers take 10 to 20 s a file, where others have a limit for one file without them.
constexpr int slower_to_compile = 9;

HostCompilerOptions host_options(const EvaluatorOptions& options, HostToolchain toolchain) {
  HostCompilerOptions host{.toolchain = std::move(toolchain),
                           .worker_folder = options.worker_folder,
                           .cache_dir = options.cache_folder + "/compiled",
                           .cache_bytes = options.compile_cache_bytes,
                           .message_bytes = options.message_bytes,
                           .timeout = slower_to_compile * options.compile_timeout};
  host.limits.cgroup_required = options.require_cgroups;
  if (options.core) host.core = -1;  // as for the other compilers: every core
  return host;
}

PythonSyntaxOptions syntax_options(const EvaluatorOptions& options) {
  PythonSyntaxOptions syntax{.python = options.python,
                             .worker_folder = options.worker_folder,
                             .message_bytes = options.message_bytes,
                             .cgroup_required = options.require_cgroups};
  if (options.core) syntax.core = -1;
  return syntax;
}

}  // namespace

Result<HostCompiler*> Evaluator::State::ready_host_compiler() {
  if (host_compiler) return &*host_compiler;
  auto toolchain = find_host_toolchain(options.python, built_with_toolkit());
  if (!toolchain) return fail("contract host", std::move(toolchain.error()));
  HostCompilerOptions wanted = host_options(options, std::move(*toolchain));
  if (gpu) wanted.architecture = gpu->architecture();
  auto opened = HostCompiler::open(std::move(wanted));
  if (!opened) return fail("contract host", std::move(opened.error()));
  return &host_compiler.emplace(std::move(*opened));
}

Result<Compiled> Evaluator::State::compile_host(const HostSubmission& submission, const Task& task,
                                                Deadline deadline) {
  const OwnClock compiling(counted());
  auto parsed = parse_python(submission.modules, syntax_options(options), deadline);
  if (!parsed || parsed->failure || submission.artefact == HostArtefact::none) return parsed;
  auto ready = ready_host_compiler();
  if (!ready) return tl::unexpected(std::move(ready.error()));
  return (*ready)->compile(submission, task.code, deadline);
}

Result<void> Evaluator::State::start_host_runner() {
  if (host_runner && host_runner->alive()) return {};
  HostRunnerOptions wanted{.python = options.python,
                           .folder = options.worker_folder,
                           .core = options.core,
                           .cgroup_required = options.require_cgroups};
  if (gpu) wanted.gpu = gpu->access();
  auto started = HostRunner::start(wanted);
  if (!started) return tl::unexpected(std::move(started.error()));
  host_runner.emplace(std::move(*started));
  return {};
}

Result<void> Evaluator::State::warm_host_runner(Deadline deadline) {
  if (auto started = start_host_runner(); !started) return started;
  const auto patience = std::min<std::chrono::milliseconds>(deadline.left(), runner_patience);
  if (auto settled = host_runner->settle(Deadline::after(patience)); !settled) {
    host_runner.reset();
    return settled;
  }
  return {};
}

void Evaluator::State::rest_host_runner(Deadline deadline) {
  if (!host_runner) return;
  const auto patience = std::min<std::chrono::milliseconds>(deadline.left(), runner_patience);
  if (!host_runner->settle(Deadline::after(patience))) host_runner.reset();
}

Result<Contestant> Evaluator::State::start_host(const HostSubmission& submission,
                                                const Compiled& compiled, const Task& task,
                                                Deadline deadline, int records_fd) {
  if (auto warm = warm_host_runner(deadline); !warm) return tl::unexpected(warm.error());
  HostRunner runner = std::move(*host_runner);
  host_runner.reset();
  const HostContestantSpec spec{.submission = submission,
                                .artefact = compiled.artefact,
                                .task = task,
                                .signature = bench->signature(),
                                .stage = *stage,
                                .records_fd = records_fd};
  return std::move(runner).enter(spec, deadline);
}

/// In a process of its own, which says it itself.
Result<PartyKernels> Evaluator::State::record_host(const HostSubmission& submission,
                                                   const Compiled& compiled, const Task& task,
                                                   Deadline deadline) {
  const auto memory = MemoryFile::create("kernel-records", record_file_bytes);
  if (!memory) return tl::unexpected(memory.error());
  auto candidate = start_host(submission, compiled, task, deadline, memory->fd());
  if (!candidate) return tl::unexpected(std::move(candidate.error()));
  const OwnClock running(counted());
  CallResult last = candidate->load(deadline);
  if (!last.fault) last = candidate->call(0, deadline);
  if (!last.fault) last = candidate->collect(deadline);
  (void)candidate->process().kill();  // it writes nothing any more
  if (last.fault) return tl::unexpected(error_of(*last.fault, "recording"));
  const auto told = read_text(memory->bytes());
  if (!told) return tl::unexpected(told.error());
  return parse_reported_kernels(*told);
}

Judgement Evaluator::State::evaluate_host(const EvaluateRequest& request, Verdict verdict,
                                          Deadline deadline) {
  if (request.want == Request::explain) {
    return InfraFailure{InfraKind::jail_unavailable, "contract host has no plan to explain"};
  }
  const auto task_options = read_task_options(request.task.code);
  if (!task_options) return infra_of(named(task_options.error(), request.task), {});
  const auto submission = host_submission(request.submission.files, options.source_bytes);
  if (!submission) return failing(std::move(verdict), submission.error());
  // Its process finds the text as a module.
  const Task shown = shown_task(request.task);
  Result<Compiled> compiled;
  {
    const PhaseClock clock(verdict.phase_ms, "compile");
    compiled = compile_host(*submission, shown, deadline);
  }
  if (!compiled) return infra_of(compiled.error(), InfraKind::jail_unavailable);
  verdict.jail = compiled->jail;
  if (compiled->failure) return failing(std::move(verdict), *compiled);
  if (request.want == Request::compile) return passing(std::move(verdict), "compiled");
  const auto for_sizes = [&](const Task& task, const TaskSignature&) {
    return StartCandidate([&, of = task](const Bench&, Deadline by) {
      return start_host(*submission, *compiled, of, by);
    });
  };
  const CandidateRun run{
      .start = [&](const Bench&,
                   Deadline by) { return start_host(*submission, *compiled, shown, by); },
      .for_sizes = for_sizes,
      .jail = JailKind::host,
      .staged = true,
      .review =
          [&](StageFacts& facts, Decision& decision) {
            facts.hints = library_hints(submission->modules);
            if (task_options->custom_kernels_only) forbid_libraries(facts, decision);
          },
      .record = [&](const Bench&,
                    Deadline by) { return record_host(*submission, *compiled, shown, by); },
      .custom_kernels_only = task_options->custom_kernels_only};
  Judgement judgement = judge(request, std::move(verdict), run, deadline);
  // It warms up while the caller is busy; the next candidate would find out itself.
  if (auto next = start_host_runner(); !next) log::warn(next.error().message);
  return judgement;
}

}  // namespace warpsmith::sandbox
