// SPDX-License-Identifier: Apache-2.0
// Contract `device`: reads the plan, compiles its kernels, matches the two, and lets the launcher
// execute the plan if the slot has a GPU.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/log.hpp"
#include "sandbox/contract/contract.hpp"
#include "sandbox/contract/device/cuda_compiler.hpp"
#include "sandbox/contract/device/device_launchers.hpp"
#include "sandbox/judge/evaluation.hpp"
#include "sandbox/plan/explain.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr std::chrono::seconds cuda_start_patience{60};  // the first NVRTC of a loaded machine

LauncherOptions launcher_options(const ContractSlot& slot) {
  LauncherOptions launchers{.program = slot.options.program, .gpu = *slot.gpu};
  launchers.core = slot.options.core;
  launchers.limits.cgroup_required = slot.options.settings.require_cgroups;
  return launchers;
}

class PlannedCandidate final : public Candidate {
 public:
  PlannedCandidate(DeviceLaunchers* launchers, const FileSet& files, DeviceCandidate bound)
      : launchers_(launchers), files_(files), bound_(std::move(bound)) {}

  OrFailure<Contestant> start(const CandidatePlace& place, Deadline deadline) override {
    return launchers_->start(bound_, place.bench.candidate_memory(), deadline);
  }

  /// Binds the plan again; the kernels stay as they were compiled.
  OrFailed<std::unique_ptr<Candidate>> for_sizes(const Task& task,
                                                 const TaskSignature& signature) override {
    TRY(const auto plan, device_plan(files_));
    Compiled compiled;
    compiled.artefact = bound_.cubin;
    TRY(auto candidate, device_candidate(plan, std::move(compiled), signature, task.lane));
    return std::make_unique<PlannedCandidate>(launchers_, files_, std::move(candidate));
  }

  void keep(Contestant contestant, Deadline deadline) override {
    launchers_->keep(std::move(contestant), deadline);
  }

  OrFailure<CallKernels> record(const CandidatePlace& place, Deadline deadline) override {
    return launchers_->record(bound_, place.bench.candidate_memory(), deadline);
  }

 private:
  DeviceLaunchers* launchers_;  // none without a GPU: then nothing is started
  const FileSet& files_;
  DeviceCandidate bound_;
};

class DeviceContract final : public Contract {
 public:
  explicit DeviceContract(const ContractSlot& slot) : slot_(slot) {
    if (slot.gpu != nullptr) launchers_.emplace(launcher_options(slot));
  }

  OrFailure<Build> build(const BuildContext& context, Deadline deadline) override {
    const bool runs_here = runs(context.request.want);
    if (launchers_ && runs_here) {
      TRY_VOID(launchers_->begin_warming());
    }
    auto built = build_anywhere(context, deadline);
    if (built && !launchers_ && runs_here && built->candidate) {
      return fail(ErrorCode::unsupported, "contract device: this slot has no GPU");
    }
    return built;
  }

  OrFailure<void> warm_up(Deadline deadline) override { return launchers_->warm_up(deadline); }

  /// A launcher warms up during the next submission's compilation, which will report an error.
  void make_next_ready(std::map<std::string, double>& phase_ms) override {
    const PhaseClock clock(phase_ms, "next");
    launchers_->end_kept();
    if (auto next = launchers_->begin_warming(); !next) log::warn(next.error().message);
  }

 private:
  /// Loads the task last: an answer about sources that do not compile needs no task.
  OrFailure<Build> build_anywhere(const BuildContext& context, Deadline deadline);
  /// The compiler's answer; empty if the submission contains no kernels and launches none.
  OrFailure<Compiled> compile(const BuildContext& context, const Plan& plan, Deadline deadline);
  OrFailure<CudaCompiler*> ready_compiler(const Progress& tell, Deadline deadline);

  ContractSlot slot_;
  std::optional<CudaCompiler> compiler_;      // from the first submission with kernels on
  std::optional<DeviceLaunchers> launchers_;  // none: a CPU slot
};

OrFailure<CudaCompiler*> DeviceContract::ready_compiler(const Progress& tell, Deadline deadline) {
  if (compiler_) return &*compiler_;
  auto toolchain = find_cuda_toolchain(built_with_toolkit(), slot_.options.python);
  if (!toolchain) return fail("contract device", std::move(toolchain.error()));
  tell("starting the CUDA compiler");
  const Patience patience{Blame::machine, cuda_start_patience, deadline};
  auto opened =
      CudaCompiler::open({slot_.options, std::move(*toolchain), slot_.architecture}, patience.by);
  if (!opened) return fail("contract device", patience.failure_of(std::move(opened.error())));
  return &compiler_.emplace(std::move(*opened));
}

OrFailure<Compiled> DeviceContract::compile(const BuildContext& context, const Plan& plan,
                                            Deadline deadline) {
  const FileSet& files = context.request.submission.files;
  if (!launches_kernels(plan)) return Compiled{};  // kernels.cu, if there is one, has no effect
  TRY(auto ready, ready_compiler(context.tell, deadline));
  const CandidateTimer own(&context.own);
  return ready->compile(files, deadline);
}

OrFailure<Build> DeviceContract::build_anywhere(const BuildContext& context, Deadline deadline) {
  const FileSet& files = context.request.submission.files;
  Build build;
  auto plan = device_plan(files);
  if (!plan) {
    build.candidate = tl::unexpected(std::move(plan.error()));
    return build;
  }
  OrFailure<Compiled> compiled;
  {
    const PhaseClock clock(build.phase_ms, "compile");
    compiled = compile(context, *plan, deadline);
  }
  if (!compiled) return tl::unexpected(std::move(compiled.error()));
  build.jail = compiled->jail;
  if (compiled->failure) {
    build.candidate = tl::unexpected(std::move(*compiled));
    return build;
  }
  OrFailure<const TaskSignature*> signature = nullptr;
  {
    const PhaseClock clock(build.phase_ms, "prepare");
    signature = context.signature(deadline);
  }
  if (!signature) return tl::unexpected(std::move(signature.error()));
  auto bound =
      device_candidate(*plan, std::move(*compiled), **signature, context.request.task.lane);
  if (!bound) {
    build.candidate = tl::unexpected(std::move(bound.error()));
    return build;
  }
  build.explanation = std::move(bound->explanation);
  build.candidate = std::make_unique<PlannedCandidate>(launchers_ ? &*launchers_ : nullptr, files,
                                                       std::move(*bound));
  return build;
}

Result<std::unique_ptr<Contract>> open_device(const ContractSlot& slot) {
  return std::make_unique<DeviceContract>(slot);
}

std::string cuda_type(Dtype dtype) {
  return element_type(dtype, "__half", "__nv_bfloat16");
}

/// The number of elements as an expression of a plan.
std::string element_count(const TensorSpec& tensor) {
  return tensor.symbols.empty() ? "1" : fmt::format("{}", fmt::join(tensor.symbols, " * "));
}

std::string quoted(const std::string& text) {
  return '"' + text + '"';
}

/// One kernel that gets all tensors and extents, with a thread for each element of the last output.
SubmissionForm form(const TaskSignature& signature) {
  std::vector<std::string> parameters, arguments;
  std::string notes;
  for (const TensorSpec& tensor : signature.tensors) {
    const std::string constness = tensor.role == TensorRole::output ? "" : "const ";
    parameters.push_back(constness + cuda_type(tensor.dtype) + "* " + variable_name(tensor.name));
    arguments.push_back(quoted(tensor.name));
    notes += "// " + variable_name(tensor.name) + ": " + tensor_summary(tensor) + '\n';
  }
  for (const std::string& extent : signature.dim_names) {
    parameters.push_back("long long " + extent);
    arguments.push_back(quoted(extent));
  }
  const std::string head =
      fmt::format("extern \"C\" __global__ void solve({})", fmt::join(parameters, ", "));
  const std::string source = fmt::format(
      "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n\n{}{} {{\n"
      "  const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;\n"
      "  // Write every element of the outputs here.\n}}\n",
      notes, head);
  const std::string plan = fmt::format(
      "[[step]]\nlaunch = \"solve\"\ngrid = [\"ceildiv({}, 256)\"]\nblock = [256]\nargs = [{}]\n",
      element_count(signature.tensors.back()), fmt::join(arguments, ", "));
  return {head + ", launched by plan.toml",
          fmt::format("nvrtc {} {}", fmt::join(cuda_compile_flags(), " "), device_source_file),
          {{std::string(device_source_file), source}, {std::string(plan_file), plan}}};
}

LibraryBuild library_build() {
  CudaSource implicit = with_implicit_names({});
  return {cuda_compile_flags(), {}, std::move(implicit.files), std::move(implicit.options)};
}

}  // namespace

const ContractEntry& device_contract() {
  static const ContractEntry entry{
      .name = "device",
      .files = {plan_file, device_source_file},
      .endings = {".toml", ".cu"},
      .required_file = "",  // a plan of only library steps needs no kernels.cu
      .solution_files = "solution/kernels.cu and solution/plan.toml",
      .tensors_heading = "What plan.toml may name",
      .tensor_lines = [](const TaskSignature& signature) { return explain(signature); },
      .runs_on = RunsOn::gpu,
      .explains = true,
      .jail = JailKind::launch,
      .trust = TrustClass::device,
      .open = open_device,
      .library_build = library_build,
      .form = form};
  return entry;
}

}  // namespace warpsmith::sandbox
