// SPDX-License-Identifier: Apache-2.0
#include "sandbox/contract/cpu/cpu_contract.hpp"

#include <fmt/format.h>

#include "sandbox/contract/contract.hpp"
#include "sandbox/contract/cpu/cpu_compiler.hpp"
#include "sandbox/contract/cpu/cpu_runner.hpp"
#include "sandbox/judge/evaluation.hpp"

namespace warpsmith::sandbox {
namespace {

std::string tensor_lines(const TaskSignature& signature) {
  return buffer_lines(signature, all_extents(signature)) + '\n';
}

class CpuCandidate final : public Candidate {
 public:
  CpuCandidate(const SandboxOptions& options, std::shared_ptr<const std::string> artefact)
      : options_(options), artefact_(std::move(artefact)) {}

  OrFailure<Contestant> start(const CandidatePlace& place, Deadline deadline) override {
    const SandboxSettings& settings = options_.settings;
    const CpuContestantSpec spec{
        .runner = options_.program,
        .artefact = *artefact_,
        .dims = values_of(all_extents(place.bench.signature())),
        .memory = place.bench.candidate_memory(),
        .core = options_.core,
        .limits = {.memory_bytes = static_cast<uint64_t>(settings.candidate_memory_bytes),
                   .cgroup_required = settings.require_cgroups}};
    return start_cpu_contestant(spec, deadline);
  }

  /// The extents come with the bench.
  OrFailed<std::unique_ptr<Candidate>> for_sizes(const Task& /*task*/,
                                                 const TaskSignature& /*signature*/) override {
    return std::make_unique<CpuCandidate>(options_, artefact_);
  }

 private:
  const SandboxOptions& options_;
  std::shared_ptr<const std::string> artefact_;
};

class CpuContract final : public Contract {
 public:
  CpuContract(const SandboxOptions& options, CpuCompiler compiler)
      : options_(options), compiler_(std::move(compiler)) {}

  OrFailure<Build> build(const BuildContext& context, Deadline deadline) override {
    Build build;
    TRY(auto compiled, compile(context, build, deadline));
    build.jail = compiled.jail;
    if (compiled.failure) {
      build.candidate = tl::unexpected(std::move(compiled));
    } else {
      auto artefact = std::make_shared<const std::string>(std::move(compiled.artefact));
      build.candidate = std::make_unique<CpuCandidate>(options_, std::move(artefact));
    }
    return build;
  }

 private:
  Result<Compiled> compile(const BuildContext& context, Build& build, Deadline deadline) {
    const PhaseClock clock(build.phase_ms, "compile");
    const CandidateTimer own(&context.own);
    return compiler_.compile(context.request.submission.files, deadline);
  }

  const SandboxOptions& options_;
  CpuCompiler compiler_;
};

Result<std::unique_ptr<Contract>> open_cpu(const ContractSlot& slot) {
  TRY(auto compiler, CpuCompiler::create(slot.options));
  return std::make_unique<CpuContract>(slot.options, std::move(compiler));
}

/// A kernel reads halves as their bits.
std::string c_type(Dtype dtype) {
  return element_type(dtype, "uint16_t", "uint16_t");
}

/// The line that names a buffer, with the places of its extents in `dims`.
std::string buffer_declaration(const TensorSpec& tensor, size_t place, size_t first_dim) {
  const bool is_output = tensor.role == TensorRole::output;
  const std::string type = (is_output ? "" : "const ") + c_type(tensor.dtype) + "*";
  const size_t last = first_dim + tensor.shape.size();
  const std::string dims = tensor.shape.empty() ? "" : fmt::format(": dims[{}]", first_dim);
  return fmt::format("  {0} {1} = static_cast<{0}>({2}[{3}]);  // {4}{5}{6}\n", type,
                     variable_name(tensor.name), is_output ? "out" : "in", place,
                     tensor_summary(tensor), dims,
                     tensor.shape.size() > 1 ? fmt::format(" to dims[{}]", last - 1) : "");
}

SubmissionForm form(const TaskSignature& signature) {
  const std::string head =
      "extern \"C\" void solve(const void* const* in, void* const* out, const int64_t* dims)";
  std::string source = fmt::format("#include \"{}\"\n\n{} {{\n", cpu_header_file, head);
  size_t in = 0, out = 0, dim = 0;
  for (const TensorSpec& tensor : signature.tensors) {
    size_t& place = tensor.role == TensorRole::output ? out : in;
    source += buffer_declaration(tensor, place++, dim);
    dim += tensor.shape.size();
  }
  source += "  // Write every element of the outputs here.\n}\n";
  return {head + ";",
          fmt::format("g++ {} {} {}", fmt::join(cpu_compile_flags(), " "), cpu_source_file,
                      fmt::join(cpu_link_flags(), " ")),
          {{cpu_source_file, std::move(source)}}};
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
                                   .dims = all_extents,
                                   .open = open_cpu,
                                   .library_build = library_build,
                                   .form = form};
  return entry;
}

// `simd("notinbranch")` declares the vector variants of glibc's libmvec, so that a loop around the
// call is vectorised. Functions of the second group compile to instructions, not calls.
const char* const cpu_header_text = R"header(#ifndef WARPSMITH_H
#define WARPSMITH_H
#include <stddef.h>
#include <stdint.h>
#ifndef INFINITY
#define INFINITY (__builtin_inff ())
#endif
#ifndef NAN
#define NAN (__builtin_nanf (""))
#endif
#define WARPSMITH_MATH1(name) \
  float name##f(float) noexcept __attribute__((simd("notinbranch"))); \
  double name(double) noexcept __attribute__((simd("notinbranch")));
#define WARPSMITH_MATH2(name) \
  float name##f(float, float) noexcept __attribute__((simd("notinbranch"))); \
  double name(double, double) noexcept __attribute__((simd("notinbranch")));
#define WARPSMITH_PLAIN1(name) \
  float name##f(float) noexcept; \
  double name(double) noexcept;
#define WARPSMITH_PLAIN2(name) \
  float name##f(float, float) noexcept; \
  double name(double, double) noexcept;
extern "C" {
WARPSMITH_MATH1(acos) WARPSMITH_MATH1(acosh) WARPSMITH_MATH1(asin) WARPSMITH_MATH1(asinh)
WARPSMITH_MATH1(atan) WARPSMITH_MATH1(atanh) WARPSMITH_MATH1(cbrt) WARPSMITH_MATH1(cos)
WARPSMITH_MATH1(cosh) WARPSMITH_MATH1(erf) WARPSMITH_MATH1(erfc) WARPSMITH_MATH1(exp)
WARPSMITH_MATH1(exp2) WARPSMITH_MATH1(exp10) WARPSMITH_MATH1(expm1) WARPSMITH_MATH1(log)
WARPSMITH_MATH1(log10) WARPSMITH_MATH1(log1p) WARPSMITH_MATH1(log2) WARPSMITH_MATH1(sin)
WARPSMITH_MATH1(sinh) WARPSMITH_MATH1(tan) WARPSMITH_MATH1(tanh)
WARPSMITH_MATH2(atan2) WARPSMITH_MATH2(hypot) WARPSMITH_MATH2(pow)
WARPSMITH_PLAIN1(sqrt) WARPSMITH_PLAIN1(fabs) WARPSMITH_PLAIN1(floor) WARPSMITH_PLAIN1(ceil)
WARPSMITH_PLAIN1(trunc) WARPSMITH_PLAIN1(rint) WARPSMITH_PLAIN1(nearbyint)
WARPSMITH_PLAIN1(round)
WARPSMITH_PLAIN2(fmax) WARPSMITH_PLAIN2(fmin) WARPSMITH_PLAIN2(copysign) WARPSMITH_PLAIN2(fmod)
WARPSMITH_PLAIN2(remainder)
float fmaf(float, float, float) noexcept;
double fma(double, double, double) noexcept;
void* memcpy(void*, const void*, size_t) noexcept;
void* memset(void*, int, size_t) noexcept;
}
#undef WARPSMITH_MATH1
#undef WARPSMITH_MATH2
#undef WARPSMITH_PLAIN1
#undef WARPSMITH_PLAIN2
#endif
)header";

}  // namespace warpsmith::sandbox
