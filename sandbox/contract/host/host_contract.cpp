// SPDX-License-Identifier: Apache-2.0
// Contract `host`: the submission's Python, and the extension that it may bring, in a separate
// process that sees only a stage.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/log.hpp"
#include "runtime/task_options.hpp"
#include "sandbox/compile/compiled.hpp"
#include "sandbox/compile/cuda_toolchain.hpp"
#include "sandbox/contract/contract.hpp"
#include "sandbox/contract/host/host_compiler.hpp"
#include "sandbox/contract/host/host_review.hpp"
#include "sandbox/contract/host/host_runner.hpp"
#include "sandbox/jail/presets.hpp"
#include "sandbox/judge/evaluation.hpp"
#include "sandbox/profile/record_file.hpp"
#include "sandbox/reference/ragged.hpp"
#include "sandbox/reference/worker.hpp"

namespace warpsmith::sandbox {
namespace {

constexpr std::chrono::seconds parse_timeout{20};

Result<JailSpec> syntax_jail(const FileSet& modules, const SandboxOptions& options) {
  TRY(auto spec, worker_jail(options.python));
  spec.argv.insert(spec.argv.end(), {"-I", "-S", "-B", "/worker/host_syntax.py"});
  spec.read_only.push_back({worker_folder(), "/worker"});
  spec.files["/modules.json"] =
      nlohmann::json(modules).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  spec.cores = options.cores;
  spec.limits = JailLimits{.cgroup_required = options.settings.require_cgroups};
  return spec;
}

/// Parses the Python files in a jail, so that syntax errors are reported before anything of the
/// submission runs. Empty, or a failure of class `compile_error` that names file and line:
/// "SyntaxError: invalid syntax (model_new.py, line 1)". An error is internal.
Result<Compiled> parse_python(const FileSet& modules, const SandboxOptions& options,
                              Deadline deadline) {
  TRY(const auto jail, syntax_jail(modules, options));
  return run_compiler(jail, parse_timeout, deadline, [&](const JailExit& exit) {
    if (exit.exit_code == 0) return Compiled{};
    std::string why = exit.err.substr(0, static_cast<size_t>(options.settings.message_bytes));
    while (why.ends_with('\n')) why.pop_back();
    return failed_compiling(VerdictClass::compile_error, why.empty() ? "the parser crashed" : why);
  });
}

constexpr std::chrono::seconds recording_timeout{30};  // for each step; the import is one

/// What one submission's candidates share.
struct HostBuild {
  HostSubmission submission;
  std::string artefact;
  bool custom_kernels_only = false;
};

class HostCandidate final : public Candidate {
 public:
  HostCandidate(HostRunners& runners, CandidateTime& own, std::shared_ptr<const HostBuild> build,
                Task task)
      : runners_(runners), own_(own), build_(std::move(build)), task_(std::move(task)) {}

  OrFailure<Contestant> start(const CandidatePlace& place, Deadline deadline) override {
    return start_recording(place, -1, deadline);
  }

  OrFailed<std::unique_ptr<Candidate>> for_sizes(const Task& task,
                                                 const TaskSignature& /*signature*/) override {
    return std::make_unique<HostCandidate>(runners_, own_, build_, task);
  }

  void review(StageFacts& stage, Decision& decision) const override {
    stage.hints = library_hints(build_->submission.modules);
    if (build_->custom_kernels_only) forbid_libraries(stage, decision);
  }

  bool reviews_kernels() const override { return build_->custom_kernels_only; }
  void review_kernels(const CallKernels& kernels, Verdict& verdict) const override {
    forbid_library_kernels(kernels, verdict);
  }

  /// The recorded process writes its records itself.
  OrFailure<CallKernels> record(const CandidatePlace& place, Deadline deadline) override {
    TRY(const auto memory, MemoryFile::create("kernel-records", record_file_bytes));
    TRY(auto candidate, start_recording(place, memory.fd(), deadline));
    const CandidateTimer running(&own_);
    const auto patience = [&] { return Patience{Blame::candidate, recording_timeout, deadline}; };
    CallResult last = candidate.load(patience());
    if (!last.fault) last = candidate.call(0, patience());
    if (!last.fault) last = candidate.collect(patience());
    (void)candidate.process().kill();  // from here on nothing writes to the memory
    if (last.fault) return tl::unexpected(failure_of(*last.fault, "recording"));
    const auto text = read_text(memory.bytes());
    auto kernels = text ? parse_reported_kernels(*text) : tl::unexpected(text.error());
    if (kernels) return std::move(*kernels);
    // The candidate can write to this memory, so unreadable records are its fault.
    return tl::unexpected(
        Failure{Blame::candidate, kernels.error().code, std::move(kernels.error().message)});
  }

 private:
  OrFailure<Contestant> start_recording(const CandidatePlace& place, int records_fd,
                                        Deadline deadline) {
    TRY(auto runner, runners_.take(deadline));
    const HostContestantSpec spec{.submission = build_->submission,
                                  .artefact = build_->artefact,
                                  .task = task_,
                                  .signature = place.bench.signature(),
                                  .stage = *place.stage,
                                  .records_fd = records_fd};
    return std::move(runner).enter(spec, deadline);
  }

  HostRunners& runners_;
  CandidateTime& own_;
  std::shared_ptr<const HostBuild> build_;
  Task task_;
};

class HostContract final : public Contract {
 public:
  explicit HostContract(const ContractSlot& slot) : slot_(slot), runners_(slot) {}

  OrFailure<Build> build(const BuildContext& context, Deadline deadline) override;

  OrFailure<void> warm_up(Deadline deadline) override { return runners_.warm_up(deadline); }
  void wait_idle(Deadline deadline) override { runners_.wait_idle(deadline); }
  /// The process warms up while the caller is busy; the next candidate will report an error.
  void make_next_ready(std::map<std::string, double>& /*phase_ms*/) override {
    if (auto next = runners_.begin_warming(); !next) log::warn(next.error().message);
  }

 private:
  Result<Compiled> compile(const HostSubmission& submission, const Task& task,
                           const BuildContext& context, Deadline deadline);
  Result<HostCompiler*> ready_compiler();

  ContractSlot slot_;
  std::optional<HostCompiler> compiler_;  // from the first extension on
  HostRunners runners_;
};

Result<HostCompiler*> HostContract::ready_compiler() {
  if (compiler_) return &*compiler_;
  auto toolchain = find_host_toolchain(slot_.options.python, built_with_toolkit());
  if (!toolchain) return fail("contract host", std::move(toolchain.error()));
  auto opened = HostCompiler::open({slot_.options, std::move(*toolchain), slot_.architecture});
  if (!opened) return fail("contract host", std::move(opened.error()));
  return &compiler_.emplace(std::move(*opened));
}

Result<Compiled> HostContract::compile(const HostSubmission& submission, const Task& task,
                                       const BuildContext& context, Deadline deadline) {
  Result<Compiled> parsed;
  {
    const CandidateTimer parsing(&context.own);
    parsed = parse_python(submission.modules, slot_.options, deadline);
  }
  if (!parsed || parsed->failure || submission.artefact == HostArtefact::none) return parsed;
  TRY(auto ready, ready_compiler());
  const CandidateTimer compiling(&context.own);
  return ready->compile(submission, task.code, deadline);
}

OrFailure<Build> HostContract::build(const BuildContext& context, Deadline deadline) {
  const Task& task = context.request.task;
  const auto options = read_task_options(task.code);
  if (!options) return tl::unexpected(named(refusal(options.error().message), task));
  if (runs(context.request.want)) {  // it imports torch while the extension compiles
    TRY_VOID(runners_.begin_warming());
  }
  Build build;
  auto submission =
      host_submission(context.request.submission.files, slot_.options.settings.source_bytes);
  if (!submission) {
    build.candidate = tl::unexpected(std::move(submission.error()));
    return build;
  }
  // The candidate's process finds the task's text as a module, so hidden sizes are cut out.
  Task shown = shown_task(task);
  Result<Compiled> compiled;
  {
    const PhaseClock clock(build.phase_ms, "compile");
    compiled = compile(*submission, shown, context, deadline);
  }
  if (!compiled) return tl::unexpected(std::move(compiled.error()));
  build.jail = compiled->jail;
  if (compiled->failure) {
    build.candidate = tl::unexpected(std::move(*compiled));
    return build;
  }
  auto made = std::make_shared<const HostBuild>(HostBuild{
      std::move(*submission), std::move(compiled->artefact), options->custom_kernels_only});
  build.candidate =
      std::make_unique<HostCandidate>(runners_, context.own, std::move(made), std::move(shown));
  return build;
}

Result<std::unique_ptr<Contract>> open_host(const ContractSlot& slot) {
  return std::make_unique<HostContract>(slot);
}

}  // namespace

namespace {

SubmissionForm form(const TaskSignature& signature) {
  std::string arguments = "self", held, returned;
  for (const TensorSpec& tensor : signature.tensors) {
    const std::string line = tensor.name + ": " + tensor_summary(tensor) + '\n';
    if (tensor.role == TensorRole::input) arguments += ", " + variable_name(tensor.name);
    if (tensor.role == TensorRole::parameter) held += "        # " + line;
    if (tensor.role == TensorRole::output) returned += "        # " + line;
  }
  const std::string source = fmt::format(
      "import torch\nfrom torch import nn\n\n\nclass ModelNew(nn.Module):\n"
      "    def __init__(self, *init_inputs):  # what get_init_inputs gives\n"
      "        super().__init__()\n"
      "        # Model's parameters and buffers, by their names:\n{}\n"
      "    def forward({}):\n        # Returns:\n{}"
      "        raise NotImplementedError\n",
      held, arguments, returned);
  const LibraryBuild build = host_library_build();
  return {"class ModelNew(nn.Module) with forward(" + arguments + ")",
          fmt::format("kernels/*.cu: nvcc {0} {1}; kernels/*_binding.cpp: g++ {0} {2}",
                      fmt::join(build.compile_flags, " "), fmt::join(build.cuda_flags, " "),
                      fmt::join(build.host_flags, " ")),
          {{std::string(host_module_file), source}}};
}

}  // namespace

const ContractEntry& host_contract() {
  static const ContractEntry entry{
      .name = "host",
      .files = {host_module_file},
      .endings = {".py"},
      .required_file = host_module_file,
      .solution_files = "solution/model_new.py and what it needs of solution/kernels/",
      .tensors_heading =
          "Inputs of `forward`, parameters and buffers that ModelNew holds by these names, and "
          "outputs",
      .tensor_lines =
          [](const TaskSignature& signature) {
            return buffer_lines(signature, distinct_extents(signature)) + '\n';
          },
      .runs_on = RunsOn::task,
      .staged = true,
      .jail = JailKind::host,
      .open = open_host,
      .library_build = host_library_build,
      .form = form};
  return entry;
}

}  // namespace warpsmith::sandbox
