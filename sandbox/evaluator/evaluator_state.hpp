// SPDX-License-Identifier: Apache-2.0
// What an evaluator owns, and the steps that its files share.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "sandbox/contract/cpu/cpu_compiler.hpp"
#include "sandbox/contract/device/cuda_compiler.hpp"
#include "sandbox/contract/device/device_candidate.hpp"
#include "sandbox/contract/host/host_compiler.hpp"
#include "sandbox/contract/host/host_contestant.hpp"
#include "sandbox/evaluator/evaluator.hpp"
#include "sandbox/evaluator/gpu_slot.hpp"
#include "sandbox/evaluator/task_memory.hpp"
#include "sandbox/ingest/ingest.hpp"
#include "sandbox/judge/evaluation.hpp"
#include "sandbox/judge/host_bench.hpp"
#include "sandbox/profile/baseline_kernels.hpp"
#include "sandbox/profile/profiled_kernel.hpp"
#include "sandbox/timing/machine.hpp"
#include "sandbox/timing/reproducibility.hpp"

namespace warpsmith::sandbox {

/// Starts a compiled candidate's process over a bench's memory.
using StartCandidate = std::function<Result<Contestant>(const Bench&, Deadline)>;
/// The same candidate made ready for other sizes of the task's inputs, or how it fails with them.
using ForSizes = std::function<OrFailed<StartCandidate>(const Task&, const TaskSignature&)>;

/// What the candidate launches in one call over a bench's memory, once it was judged right.
using RecordCandidate = std::function<Result<PartyKernels>(const Bench&, Deadline)>;

/// What one call of each party ran, or why that is not known.
struct CallKernels {
  PartyKernels candidate;
  BaselineKernels baselines;
};

/// How a compiled candidate is run, and what its contract adds to the decision.
struct CandidateRun {
  StartCandidate start;
  KeepCandidate keep;  // after hidden shapes, for the next `start`; empty: a process for each
  ForSizes for_sizes;
  JailKind jail = JailKind::run;                       // whose primitives the trust class rests on
  bool staged = false;                                 // it is shown `State::stage`, not the bench
  std::function<void(StageFacts&, Decision&)> review;  // of a staged one
  RecordCandidate record;                              // empty: its kernels cannot be recorded
  bool custom_kernels_only = false;                    // on a GPU by what a call ran
};

/// Whose sizes a candidate is tried on: the task's as shown, or its hidden ones, which come first.
enum class Shapes : uint8_t { shown, hidden };

/// How a candidate did on the task's hidden shapes.
struct RaggedResult {
  Decision decision;
  EvaluationOutcome outcome;  // empty where the candidate could not be made ready for them
};

/// An evaluation on hidden shapes, where the task names any, then one on those shown, which is not
/// timed if the candidate is wrong already.
struct Trial {
  std::optional<RaggedResult> ragged;
  EvaluationOutcome shown;
  Decision decision;  // of the shapes shown

  bool wrong_there() const { return ragged && ragged->decision.outcome != VerdictClass::passed; }
};

/// What an evaluation runs on. Holds until the next one's.
struct ReadySlot {
  ReferenceWorker* worker = nullptr;
  Bench* bench = nullptr;
  Stage* stage = nullptr;  // null but for a candidate that needs one
};

struct Evaluator::State {
  EvaluatorOptions options;
  CpuCompiler compiler;
  std::unique_ptr<GpuSlot> gpu;  // none: a CPU slot
  Machine machine;
  std::optional<CudaCompiler> cuda;           // from the first submission of contract `device` on
  std::optional<HostCompiler> host_compiler;  // from the first extension of contract `host` on
  std::optional<HostRunner> host_runner;      // waits for the next candidate of contract `host`
  Progress progress;                          // of the call in hand
  std::string last_told;                      // to it
  std::optional<OwnTime> own;                 // of the evaluation in hand
  std::optional<ReferenceWorker> worker;
  TaskMemory tasks;
  BenchMemory bench_memory;
  std::string bench_key;                            // content hash of the task that `bench` is for
  std::unique_ptr<Bench> bench;                     // of the last task
  std::unique_ptr<Stage> stage;                     // of `bench`, once a candidate needs one
  Reproducibility eager_between, compiled_between;  // evaluations on this slot
  std::map<Baseline, Reproducibility> further_between;

  State(EvaluatorOptions o, CpuCompiler c, std::unique_ptr<GpuSlot> g, Machine m)
      : options(std::move(o)), compiler(std::move(c)), gpu(std::move(g)), machine(std::move(m)) {}

  std::string facts_folder() const { return options.cache_folder + "/facts"; }
  /// First of all in each call of the evaluator.
  void begin(const Progress& heard) {
    progress = heard;
    tasks.make_room();
  }
  void tell(const std::string& what) {
    last_told = what;
    if (progress) progress(what);
  }

  OwnTime* counted() { return own ? &*own : nullptr; }

  // evaluator.cpp
  Judgement evaluate(const EvaluateRequest& request, Verdict verdict, Deadline deadline);
  Judgement evaluate_cpu(const EvaluateRequest& request, Verdict verdict, Deadline deadline);

  // evaluator_host.cpp
  Judgement evaluate_host(const EvaluateRequest& request, Verdict verdict, Deadline deadline);
  Result<HostCompiler*> ready_host_compiler();
  Result<Compiled> compile_host(const HostSubmission& submission, const Task& task,
                                Deadline deadline);
  /// Starts the process that waits for a candidate, where there is none. It takes a core for a
  /// while.
  Result<void> start_host_runner();
  /// The same, and lets it come to rest.
  Result<void> warm_host_runner(Deadline deadline);
  /// What still warms up for a later candidate comes to rest before anything is measured.
  void rest_host_runner(Deadline deadline);
  Result<Contestant> start_host(const HostSubmission& submission, const Compiled& compiled,
                                const Task& task, Deadline deadline, int records_fd = -1);
  Result<PartyKernels> record_host(const HostSubmission& submission, const Compiled& compiled,
                                   const Task& task, Deadline deadline);

  // evaluator_worker.cpp
  Result<ReferenceWorker*> ready_worker(Deadline deadline);
  /// Of the task, whose ragged shapes were found fit too, if it names any.
  /// Holds until the next such call.
  Result<const IngestRecord*> record_of(const Task& task, Deadline deadline);
  Result<const IngestRecord*> record_of(const Task& task, IngestScope scope, Deadline deadline);
  Result<IngestRecord> measure(const Task& task, IngestScope scope, Deadline deadline, bool last);
  Result<IngestRecord> ingested(const Task& task, IngestScope scope, Deadline deadline);
  /// Loads the task on the CPU if it is not known: nothing is measured, no GPU is needed.
  Result<const TaskSignature*> signature_of(const Task& task, Deadline deadline);
  Result<TaskSignature> load_signature(const Task& task, Deadline deadline, bool last);
  Result<ReferenceWorker*> worker_with(const EvaluateRequest& request, const IngestRecord& record,
                                       Deadline deadline);

  // evaluator_attempt.cpp
  Result<std::unique_ptr<Bench>> make_bench(const TaskSignature& signature);
  /// Of the slot's GPU, else its core, else empty.
  Result<std::optional<DeviceLease>> lease(Deadline deadline);
  /// What slots take turns on.
  struct Shared {
    std::string name;                   // and who else has it
    std::chrono::milliseconds silence;  // who waits longer says so
    std::function<Result<DeviceLease>(Deadline)> acquire;
  };
  Shared shared_device() const;
  Result<DeviceLease> lease_of(const Shared& device, Deadline deadline);
  /// Of a GPU slot, as it is before a candidate runs, else empty.
  CheckDevice device_check() const;
  Result<Bench*> bench_of(const Task& task, const TaskSignature& signature);
  /// Before the worker loads another task than the last bench is for: lets go of that bench.
  void make_room_for(const Task& task);
  /// The process that the candidate will get.
  Result<void> warm_up(const CandidateRun& run, Deadline deadline);
  Result<Stage*> stage_for(const CandidateRun& run);
  Result<ReadySlot> ready_for(const EvaluateRequest& request, const IngestRecord& record,
                              const CandidateRun& run, Deadline deadline);
  /// Refers to all of its arguments.
  EvaluationJob job_of(const EvaluateRequest& request, const IngestRecord& record,
                       const CandidateRun& run, const SecretSeed& seed, const ReadySlot& ready,
                       Shapes shapes);
  Result<EvaluationOutcome> attempt(const EvaluateRequest& request, const IngestRecord& record,
                                    const CandidateRun& run, const SecretSeed& seed, Shapes shapes,
                                    Deadline deadline);

  // evaluator_judge.cpp
  Judgement judge(const EvaluateRequest& request, Verdict verdict, const CandidateRun& run,
                  Deadline deadline);
  Result<Trial> try_once(const EvaluateRequest& request, const IngestRecord& record,
                         const CandidateRun& run, const SecretSeed& seed, Deadline deadline);
  Judgement conclude(const EvaluateRequest& request, Verdict verdict, Trial trial,
                     const IngestRecord& record, const CandidateRun& run, const SecretSeed& seed,
                     Deadline deadline);
  Decision decide_on(const EvaluateRequest& request, EvaluationOutcome& outcome,
                     const IngestRecord& record, const CandidateRun& run, const SecretSeed& seed);

  // evaluator_baselines.cpp
  /// What this slot is asked to time the task against, less what was dropped.
  FurtherBaselines& further_of(const Task& task);
  /// The same, less what ingest found that the task lacks.
  FurtherBaselines& further_of(const Task& task, const IngestRecord& record);
  void compare_with_earlier(const Task& task, Timings& timings);

  // evaluator_profile.cpp
  /// Of a right candidate on a GPU slot: what the task's rule and the request ask of its kernels.
  /// An error: the device is no longer well, or a rule cannot be decided here.
  Result<void> look_at_kernels(const EvaluateRequest& request, const IngestRecord& record,
                               const CandidateRun& run, Verdict& verdict, Deadline deadline);
  Result<CallKernels> kernels_of_call(const EvaluateRequest& request, const IngestRecord& record,
                                      const CandidateRun& run, Verdict& verdict, Deadline deadline);
  /// Into feedback and evidence. The class stays.
  void add_profile(const IngestRecord& record, const CandidateRun& run, CallKernels kernels,
                   Verdict& verdict);
  Result<PartyKernels> candidate_kernels(const CandidateRun& run, Deadline deadline);
  BaselineKernels kernels_of_baselines(const Task& task, const Result<ReferenceWorker*>& ready,
                                       Deadline deadline);

  // evaluator_ragged.cpp
  Result<const IngestRecord*> ragged_record_of(const Task& ragged, const IngestRecord& shown,
                                               Deadline deadline);
  /// Nothing where the task names no ragged shapes. An error is a failure of ours.
  Result<std::optional<RaggedResult>> verify_ragged(const EvaluateRequest& request,
                                                    const CandidateRun& run, const SecretSeed& seed,
                                                    Deadline deadline);

  // evaluator_device.cpp
  Judgement evaluate_device(const EvaluateRequest& request, Verdict verdict, Deadline deadline);
  void make_next_ready(Judgement& judgement);
  Result<CudaCompiler*> ready_cuda(Deadline deadline);
  Result<Compiled> compile_kernels(const FileSet& files, const Plan& plan, Deadline deadline);
  /// What is launched, or the failing class. An error is a failure of ours.
  Result<DeviceBuild> build_device(const EvaluateRequest& request, Deadline deadline);
  /// The plan bound anew; the kernels are those that were compiled.
  OrFailed<StartCandidate> start_for(const DeviceCandidate& built, const FileSet& files,
                                     const Task& task, const TaskSignature& signature);
};

/// Whether times are wanted, not only whether outputs are right.
inline bool is_timed(const EvaluateRequest& request) {
  return request.want == Request::profile || request.want == Request::final;
}

/// With the task's file, or its name, in front.
Error named(Error error, const Task& task);

/// Of a submission that fails before it is judged.
Verdict failing(Verdict verdict, const Compiled& failed);
Verdict passing(Verdict verdict, std::string feedback);

/// The failure that an error of ours is; `otherwise` where the code does not tell.
InfraFailure infra_of(const Error& error, InfraKind otherwise);

}  // namespace warpsmith::sandbox
