// SPDX-License-Identifier: Apache-2.0
// Contract `device`: plan read, kernels compiled, both matched; judged where there is a GPU.
#include <algorithm>

#include "runtime/log.hpp"
#include "sandbox/evaluator/evaluator_state.hpp"
#include "sandbox/judge/phase_clock.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr std::chrono::seconds cuda_start_patience{60};  // the first NVRTC of a loaded machine

CudaCompilerOptions cuda_options(const EvaluatorOptions& options, CudaToolchain toolchain) {
  CudaCompilerOptions cuda{.program = options.runner,
                           .toolchain = std::move(toolchain),
                           .cache_dir = options.cache_folder + "/compiled",
                           .cache_bytes = options.compile_cache_bytes,
                           .source_bytes = options.source_bytes,
                           .message_bytes = options.message_bytes,
                           .timeout = options.compile_timeout};
  cuda.limits.processes = options.compile_tasks;
  cuda.limits.cgroup_required = options.require_cgroups;
  if (options.core) cuda.core = -1;  // as for the other compiler: every core
  return cuda;
}

}  // namespace

Result<CudaCompiler*> Evaluator::State::ready_cuda(Deadline deadline) {
  if (cuda) return &*cuda;
  auto toolchain = find_cuda_toolchain(built_with_toolkit(), options.python);
  if (!toolchain) return fail("contract device", std::move(toolchain.error()));
  tell("starting the CUDA compiler");
  const auto patience = std::min<std::chrono::milliseconds>(deadline.left(), cuda_start_patience);
  CudaCompilerOptions wanted = cuda_options(options, std::move(*toolchain));
  if (gpu) wanted.architecture = gpu->architecture();
  auto opened = CudaCompiler::open(std::move(wanted), Deadline::after(patience));
  if (!opened) return fail("contract device", std::move(opened.error()));
  return &cuda.emplace(std::move(*opened));
}

/// The compiler's answer; nothing of it where the submission holds no kernels and needs none.
Result<Compiled> Evaluator::State::compile_kernels(const FileSet& files, const Plan& plan,
                                                   Deadline deadline) {
  if (!launches_kernels(plan) && !files.contains(device_source_file)) return Compiled{};
  auto ready = ready_cuda(deadline);
  if (!ready) return tl::unexpected(std::move(ready.error()));
  const OwnClock compiling(counted());
  return (*ready)->compile(files, deadline);
}

/// The task is loaded last: what does not compile is answered without it.
Result<DeviceBuild> Evaluator::State::build_device(const EvaluateRequest& request,
                                                   Deadline deadline) {
  DeviceBuild build;
  auto plan = device_plan(request.submission.files);
  if (!plan) {
    build.candidate = tl::unexpected(std::move(plan.error()));
    return build;
  }
  Result<Compiled> compiled;
  {
    const PhaseClock clock(build.phase_ms, "compile");
    compiled = compile_kernels(request.submission.files, *plan, deadline);
  }
  if (!compiled) return tl::unexpected(std::move(compiled.error()));
  build.jail = compiled->jail;
  if (compiled->failure) {
    build.candidate = tl::unexpected(std::move(*compiled));
    return build;
  }
  Result<const TaskSignature*> signature = nullptr;
  {
    const PhaseClock clock(build.phase_ms, "prepare");
    signature = signature_of(request.task, deadline);
  }
  if (!signature) return tl::unexpected(std::move(signature.error()));
  build.candidate = device_candidate(*plan, std::move(*compiled), **signature, request.task.lane);
  return build;
}

OrFailed<StartCandidate> Evaluator::State::start_for(const DeviceCandidate& built,
                                                     const FileSet& files, const Task& task,
                                                     const TaskSignature& signature) {
  const auto plan = device_plan(files);
  if (!plan) return tl::unexpected(plan.error());
  Compiled compiled;
  compiled.artefact = built.cubin;
  auto candidate = device_candidate(*plan, std::move(compiled), signature, task.lane);
  if (!candidate) return tl::unexpected(std::move(candidate.error()));
  return [this, bound = std::move(*candidate)](const Bench& on, Deadline by) {
    return gpu->start(bound, on, by);
  };
}

/// A launcher warms up beside the next submission's compilation, which would find out itself.
void Evaluator::State::make_next_ready(Judgement& judgement) {
  std::map<std::string, double> phases;
  {
    const PhaseClock clock(phases, "next");
    gpu->end_kept();
    if (auto next = gpu->begin_warming(); !next) log::warn(next.error().message);
  }
  if (auto* verdict = std::get_if<Verdict>(&judgement)) verdict->phase_ms.merge(phases);
}

Judgement Evaluator::State::evaluate_device(const EvaluateRequest& request, Verdict verdict,
                                            Deadline deadline) {
  if (gpu && runs(request.want)) {
    if (auto begun = gpu->begin_warming(); !begun) {
      return infra_of(begun.error(), InfraKind::sandbox_lost);
    }
  }
  auto built = build_device(request, deadline);
  if (!built) return infra_of(built.error(), InfraKind::reference_failed);
  verdict.jail = std::move(built->jail);
  verdict.phase_ms = std::move(built->phase_ms);
  auto& candidate = built->candidate;
  if (!candidate) return failing(std::move(verdict), candidate.error());
  if (request.want == Request::compile) return passing(std::move(verdict), "compiled");
  if (request.want == Request::explain) {
    return passing(std::move(verdict), std::move(candidate->explanation));
  }
  if (!gpu) {
    return InfraFailure{InfraKind::jail_unavailable, "contract device: this slot has no GPU"};
  }
  const auto for_sizes = [&](const Task& task, const TaskSignature& signature) {
    return start_for(*candidate, request.submission.files, task, signature);
  };
  const CandidateRun run{
      .start = [&](const Bench& on, Deadline by) { return gpu->start(*candidate, on, by); },
      .keep = [&](Contestant running, Deadline by) { gpu->keep(std::move(running), by); },
      .for_sizes = for_sizes,
      .jail = JailKind::launch,
      .record = [&](const Bench& on, Deadline by) { return gpu->record(*candidate, on, by); }};
  Judgement judgement = judge(request, std::move(verdict), run, deadline);
  make_next_ready(judgement);
  return judgement;
}

}  // namespace warpsmith::sandbox
