// SPDX-License-Identifier: Apache-2.0
// Contract `device` as far as no GPU is needed: plan read, kernels compiled, both matched.
#include <algorithm>

#include "sandbox/judge/evaluator_state.hpp"
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

}  // namespace warpsmith::sandbox
