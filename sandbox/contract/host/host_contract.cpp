// SPDX-License-Identifier: Apache-2.0
// Contract `host`: the submission's Python, and the extension that it may bring, in a process of
// its own that is shown a stage.
#include "sandbox/contract/contract.hpp"

#include <algorithm>

#include "runtime/log.hpp"
#include "runtime/task_options.hpp"
#include "sandbox/compile/cuda_toolchain.hpp"
#include "sandbox/contract/buffer_lines.hpp"
#include "sandbox/contract/host/host_commands.hpp"
#include "sandbox/contract/host/host_compiler.hpp"
#include "sandbox/contract/host/host_hints.hpp"
#include "sandbox/contract/host/host_review.hpp"
#include "sandbox/contract/host/host_runners.hpp"
#include "sandbox/contract/host/python_syntax.hpp"
#include "sandbox/judge/phase_clock.hpp"
#include "sandbox/profile/record_file.hpp"
#include "sandbox/reference/ragged.hpp"

namespace warpsmith::sandbox {
namespace {

// torch's headers take 10 to 20 s a file, and the option is for one file without them.
constexpr int slower_to_compile = 9;

constexpr std::chrono::seconds recording_patience{30};  // for each step; the import is one

HostCompilerOptions compiler_options(const ContractSlot& slot, HostToolchain toolchain) {
  const EvaluatorOptions& options = slot.options;
  HostCompilerOptions host{.toolchain = std::move(toolchain),
                           .worker_folder = options.worker_folder,
                           .architecture = slot.architecture,
                           .cache_dir = options.cache_folder + "/compiled",
                           .cache_bytes = options.compile_cache_bytes,
                           .message_bytes = options.message_bytes,
                           .timeout = slower_to_compile * options.compile_timeout,
                           .cores = options.compile_cores};
  host.limits.cgroup_required = options.require_cgroups;
  return host;
}

PythonSyntaxOptions syntax_options(const EvaluatorOptions& options) {
  return {.python = options.python,
          .worker_folder = options.worker_folder,
          .message_bytes = options.message_bytes,
          .cores = options.compile_cores,
          .cgroup_required = options.require_cgroups};
}

HostRunnerOptions runner_options(const ContractSlot& slot) {
  HostRunnerOptions wanted{.python = slot.options.python,
                           .folder = slot.options.worker_folder,
                           .core = slot.options.core,
                           .cgroup_required = slot.options.require_cgroups};
  if (slot.gpu != nullptr) wanted.gpu = *slot.gpu;
  return wanted;
}

/// What one submission's candidates share.
struct HostBuild {
  HostSubmission submission;
  std::string artefact;
  bool custom_kernels_only = false;
};

class HostCandidate final : public Candidate {
 public:
  HostCandidate(HostRunners& runners, OwnTime& own, std::shared_ptr<const HostBuild> build,
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
  void review_kernels(const PartyKernels& kernels, Verdict& verdict) const override {
    forbid_library_kernels(kernels, verdict);
  }

  /// The recorded process writes its records itself.
  OrFailure<PartyKernels> record(const CandidatePlace& place, Deadline deadline) override {
    const auto memory = MemoryFile::create("kernel-records", record_file_bytes);
    if (!memory) return tl::unexpected(memory.error());
    auto candidate = start_recording(place, memory->fd(), deadline);
    if (!candidate) return tl::unexpected(std::move(candidate.error()));
    const OwnClock running(&own_);
    const auto patience = [&] { return Patience{Blame::candidate, recording_patience, deadline}; };
    CallResult last = candidate->load(patience());
    if (!last.fault) last = candidate->call(0, patience());
    if (!last.fault) last = candidate->collect(patience());
    (void)candidate->process().kill();  // from here on nothing writes to the memory
    if (last.fault) return tl::unexpected(failure_of(*last.fault, "recording"));
    const auto text = read_text(memory->bytes());
    auto kernels = text ? parse_reported_kernels(*text) : tl::unexpected(text.error());
    if (kernels) return std::move(*kernels);
    // The candidate can write to this memory, so unreadable records are its fault.
    return tl::unexpected(
        Failure{Blame::candidate, kernels.error().code, std::move(kernels.error().message)});
  }

 private:
  OrFailure<Contestant> start_recording(const CandidatePlace& place, int records_fd,
                                        Deadline deadline) {
    auto runner = runners_.take(deadline);
    if (!runner) return tl::unexpected(std::move(runner.error()));
    const HostContestantSpec spec{.submission = build_->submission,
                                  .artefact = build_->artefact,
                                  .task = task_,
                                  .signature = place.bench.signature(),
                                  .stage = *place.stage,
                                  .records_fd = records_fd};
    return std::move(*runner).enter(spec, deadline);
  }

  HostRunners& runners_;
  OwnTime& own_;
  std::shared_ptr<const HostBuild> build_;
  Task task_;
};

class HostContract final : public Contract {
 public:
  explicit HostContract(const ContractSlot& slot) : slot_(slot), runners_(runner_options(slot)) {}

  OrFailure<Build> build(const BuildContext& context, Deadline deadline) override;

  OrFailure<void> warm_up(Deadline deadline) override { return runners_.warm_up(deadline); }
  void rest(Deadline deadline) override { runners_.rest(deadline); }
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
  auto opened = HostCompiler::open(compiler_options(slot_, std::move(*toolchain)));
  if (!opened) return fail("contract host", std::move(opened.error()));
  return &compiler_.emplace(std::move(*opened));
}

Result<Compiled> HostContract::compile(const HostSubmission& submission, const Task& task,
                                       const BuildContext& context, Deadline deadline) {
  Result<Compiled> parsed;
  {
    const OwnClock parsing(&context.own);
    parsed = parse_python(submission.modules, syntax_options(slot_.options), deadline);
  }
  if (!parsed || parsed->failure || submission.artefact == HostArtefact::none) return parsed;
  auto ready = ready_compiler();
  if (!ready) return tl::unexpected(std::move(ready.error()));
  const OwnClock compiling(&context.own);
  return (*ready)->compile(submission, task.code, deadline);
}

OrFailure<Build> HostContract::build(const BuildContext& context, Deadline deadline) {
  const Task& task = context.request.task;
  const auto options = read_task_options(task.code);
  if (!options) return tl::unexpected(named(refusal(options.error().message), task));
  if (runs(context.request.want)) {  // it imports torch while the extension compiles
    if (auto begun = runners_.begin_warming(); !begun) return tl::unexpected(begun.error());
  }
  Build build;
  auto submission = host_submission(context.request.submission.files, slot_.options.source_bytes);
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
      .tensor_lines = tensor_lines,
      .runs_on = RunsOn::task,
      .staged = true,
      .jail = JailKind::host,
      .open = open_host,
      .library_build = host_library_build};
  return entry;
}

}  // namespace warpsmith::sandbox
