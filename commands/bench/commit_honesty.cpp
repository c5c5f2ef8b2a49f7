// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/commit_honesty.hpp"

#include "commands/bench/final_verdict.hpp"
#include "sandbox/contract/cpu/cpu_compiler.hpp"

namespace warpsmith::commands {
namespace {

Result<std::string> compile_check(const std::string& cache, Deadline deadline) {
  sandbox::CompilerOptions options;
  options.cache_dir = cache + "/compiled";
  auto compiler = sandbox::CpuCompiler::create(std::move(options));
  if (!compiler) return tl::unexpected(std::move(compiler.error()));
  auto compiled = compiler->compile({{"kernel.cpp", sandbox::self_check_kernel}}, deadline);
  if (!compiled) return tl::unexpected(std::move(compiled.error()));
  if (compiled->failure) {
    return fail(ErrorCode::infrastructure, "the self-check's kernel: " + compiled->text);
  }
  return std::move(compiled->artefact);
}

Result<SpeedupSample> speedup_sample(const Judgement& judgement) {
  if (const auto* failure = std::get_if<InfraFailure>(&judgement)) {
    return fail(ErrorCode::infrastructure, failure->detail);
  }
  const auto& verdict = std::get<Verdict>(judgement);
  if (verdict.shapes.empty() || !verdict.shapes.front().speedup_eager_ci) {
    return fail(ErrorCode::infrastructure, "no times: " + verdict.feedback);
  }
  return SpeedupSample{*verdict.shapes.front().speedup_eager_ci, verdict.evidence};
}

}  // namespace

Result<std::vector<sandbox::SelfCheck>> measure_commit(const sandbox::SandboxOptions& options,
                                                       int64_t processes, Deadline deadline) {
  auto artefact = compile_check(options.cache_dir, deadline);
  if (!artefact) return tl::unexpected(std::move(artefact.error()));
  const sandbox::SelfCheckOptions check{options.program, std::move(*artefact), options.core};
  std::vector<sandbox::SelfCheck> all;
  for (int64_t i = 0; i < processes; ++i) {
    auto one = sandbox::self_check(check, deadline);
    if (!one) return tl::unexpected(std::move(one.error()));
    all.push_back(*one);
  }
  return all;
}

Result<std::vector<VerdictPair>> measure_pairs(SandboxBackend& backend, const Task& task,
                                               const std::string& source, int64_t pairs,
                                               const BenchProgress& progress) {
  const Submission submission{task.id, "cpu", {{"kernel.cpp", source}}};
  std::vector<VerdictPair> all;
  for (int64_t i = 0; i < pairs; ++i) {
    VerdictPair pair;
    for (SpeedupSample* sample : {&pair.first, &pair.second}) {
      auto seen = speedup_sample(final_verdict(backend, task, submission).judgement);
      if (!seen) return tl::unexpected(std::move(seen.error()));
      *sample = std::move(*seen);
    }
    all.push_back(pair);
    progress("pair " + std::to_string(i + 1) + " of " + std::to_string(pairs));
  }
  return all;
}

}  // namespace warpsmith::commands
