// SPDX-License-Identifier: Apache-2.0
// Contract `cpu`: C++ compiled by g++, called by our runner in a jail.
#include "sandbox/contract/cpu/cpu_contract.hpp"

#include "sandbox/contract/buffer_lines.hpp"
#include "sandbox/contract/contract.hpp"
#include "sandbox/contract/cpu/cpu_compiler.hpp"
#include "sandbox/contract/cpu/cpu_contestant.hpp"
#include "sandbox/judge/phase_clock.hpp"

namespace warpsmith::sandbox {
namespace {

CompilerOptions compiler_options(const EvaluatorOptions& options) {
  CompilerOptions compile{.cache_dir = options.cache_folder + "/compiled",
                          .cache_bytes = options.compile_cache_bytes,
                          .source_bytes = options.source_bytes,
                          .message_bytes = options.message_bytes,
                          .timeout = options.compile_timeout,
                          .cores = options.compile_cores};
  compile.limits.processes = options.compile_tasks;
  compile.limits.cgroup_required = options.require_cgroups;
  return compile;
}

class CpuCandidate final : public Candidate {
 public:
  CpuCandidate(const EvaluatorOptions& options, std::shared_ptr<const std::string> artefact)
      : options_(options), artefact_(std::move(artefact)) {}

  OrFailure<Contestant> start(const CandidatePlace& place, Deadline deadline) override {
    const CpuContestantSpec spec{.runner = options_.runner,
                                 .artefact = *artefact_,
                                 .dims = place.bench.signature().dims,
                                 .memory = place.bench.candidate_memory(),
                                 .core = options_.core,
                                 .limits = {.memory_bytes = options_.candidate_memory_bytes,
                                            .cgroup_required = options_.require_cgroups}};
    return start_cpu_contestant(spec, deadline);
  }

  /// The extents come with the bench.
  OrFailed<std::unique_ptr<Candidate>> for_sizes(const Task& /*task*/,
                                                 const TaskSignature& /*signature*/) override {
    return std::make_unique<CpuCandidate>(options_, artefact_);
  }

 private:
  const EvaluatorOptions& options_;
  std::shared_ptr<const std::string> artefact_;
};

class CpuContract final : public Contract {
 public:
  CpuContract(const EvaluatorOptions& options, CpuCompiler compiler)
      : options_(options), compiler_(std::move(compiler)) {}

  OrFailure<Build> build(const BuildContext& context, Deadline deadline) override {
    Build build;
    auto compiled = compile(context, build, deadline);
    if (!compiled) return tl::unexpected(std::move(compiled.error()));
    build.jail = compiled->jail;
    if (compiled->failure) {
      build.candidate = tl::unexpected(std::move(*compiled));
    } else {
      auto artefact = std::make_shared<const std::string>(std::move(compiled->artefact));
      build.candidate = std::make_unique<CpuCandidate>(options_, std::move(artefact));
    }
    return build;
  }

 private:
  Result<Compiled> compile(const BuildContext& context, Build& build, Deadline deadline) {
    const PhaseClock clock(build.phase_ms, "compile");
    const OwnClock own(&context.own);
    return compiler_.compile(context.request.submission.files, deadline);
  }

  const EvaluatorOptions& options_;
  CpuCompiler compiler_;
};

Result<std::unique_ptr<Contract>> open_cpu(const ContractSlot& slot) {
  auto compiler = CpuCompiler::create(compiler_options(slot.options));
  if (!compiler) return tl::unexpected(std::move(compiler.error()));
  return std::make_unique<CpuContract>(slot.options, std::move(*compiler));
}

LibraryBuild library_build() {
  return {cpu_compile_flags(), cpu_link_flags(), {{cpu_header_file, cpu_header_text}}, {}};
}

}  // namespace

const std::vector<std::string>& cpu_compile_flags() {
  static const std::vector<std::string> flags{
      "-std=c++20",         "-O3",   "-march=native", "-fno-math-errno",
      "-fno-trapping-math", "-fPIC", "-shared",       "-fopenmp-simd"};
  return flags;
}

const std::vector<std::string>& cpu_link_flags() {
  static const std::vector<std::string> flags{"-nostartfiles", "-Wl,--defsym=__dso_handle=_DYNAMIC",
                                              "-Wl,-z,defs", "-Wl,-z,now"};
  return flags;
}

const ContractEntry& cpu_contract() {
  static const ContractEntry entry{.name = "cpu",
                                   .files = {cpu_source_file},
                                   .endings = {".cpp"},
                                   .required_file = cpu_source_file,
                                   .solution_files = "solution/kernel.cpp",
                                   .tensors_heading = "Buffers that `solve` receives, in order",
                                   .names_lane = false,
                                   .tensor_lines = tensor_lines,
                                   .open = open_cpu,
                                   .library_build = library_build};
  return entry;
}

}  // namespace warpsmith::sandbox
