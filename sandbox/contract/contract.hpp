// SPDX-License-Identifier: Apache-2.0
// A contract: what a submission consists of, how it is built and started, and what its rules add to
// a verdict. Each contract is one folder next to this file and one name in the root's
// CMakeLists.txt; `all_contracts` lists them.
//
// `ContractEntry` says what a contract is on any machine, `Contract` does its work on one slot, and
// `Candidate` is one submission that compiled.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "runtime/verdict.hpp"
#include "sandbox/commit/contestant.hpp"
#include "sandbox/compile/compiled.hpp"
#include "sandbox/compile/cuda_toolchain.hpp"
#include "sandbox/contract/library_build.hpp"
#include "sandbox/device/gpu_access.hpp"
#include "sandbox/failure/failure.hpp"
#include "sandbox/failure/time_limits.hpp"
#include "sandbox/judge/bench.hpp"
#include "sandbox/judge/decision.hpp"
#include "sandbox/judge/evaluation.hpp"
#include "sandbox/profile/profiled_kernel.hpp"
#include "sandbox/protocol/options.hpp"
#include "sandbox/protocol/requests.hpp"

namespace warpsmith::sandbox {

/// Where a candidate's process works. Both outlive the process.
struct CandidatePlace {
  const Bench& bench;
  CandidateStage* stage = nullptr;  // set for a staged contract, which maps it instead of the bench
};

/// A submission that compiled, made ready for one signature of its task.
class Candidate {
 public:
  Candidate() = default;
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;
  virtual ~Candidate() = default;

  /// A jailed, calibrated, stopped process that has not loaded the candidate's code yet.
  virtual OrFailure<Contestant> start(const CandidatePlace& place, Deadline deadline) = 0;

  /// The same submission for other sizes of the task's inputs, or how it fails with them.
  virtual OrFailed<std::unique_ptr<Candidate>> for_sizes(const Task& task,
                                                         const TaskSignature& signature) = 0;

  /// Takes the process that was verified on other sizes; `start` may use it again. The default ends
  /// it.
  virtual void keep(Contestant contestant, Deadline deadline);

  /// Applies the contract's rules to the decision on a staged candidate. May run twice on one
  /// decision.
  virtual void review(StageFacts& /*stage*/, Decision& /*decision*/) const {}

  /// Whether a pass on a GPU is final only after `review_kernels`.
  virtual bool reviews_kernels() const { return false; }
  /// Applies the contract's rules to the kernels of one call.
  virtual void review_kernels(const CallKernels& /*kernels*/, Verdict& /*verdict*/) const {}

  /// The kernels of one call, recorded in a separate process. The default gives a reason instead.
  virtual OrFailure<CallKernels> record(const CandidatePlace& place, Deadline deadline);
};

/// What an evaluation lends to `Contract::build`. All of it outlives the candidate.
struct BuildContext {
  const EvaluateRequest& request;
  CandidateTime& own;  // counts the compilation and the import, which are the candidate's time
  Progress tell;       // never empty
  /// The signature of the request's task. Loads the task if it is not known.
  std::function<OrFailure<const TaskSignature*>(Deadline)> signature;
};

/// A candidate, or the class that the submission fails with.
struct Build {
  OrFailed<std::unique_ptr<Candidate>> candidate;
  std::string explanation;                  // the answer to `Request::explain`
  std::map<std::string, std::string> jail;  // of the compiler; empty if none ran
  std::map<std::string, double> phase_ms;   // "compile", "prepare"
};

/// A contract at work on one slot: its compilers, and processes that wait warm for a candidate.
/// Calls come from the evaluator's thread.
class Contract {
 public:
  Contract() = default;
  Contract(const Contract&) = delete;
  Contract& operator=(const Contract&) = delete;
  virtual ~Contract() = default;

  virtual OrFailure<Build> build(const BuildContext& context, Deadline deadline) = 0;

  /// Returns once the process that the next `start` uses is warm. Called before anything is timed.
  virtual OrFailure<void> warm_up(Deadline /*deadline*/) { return {}; }
  /// Called after a candidate was judged: a process for the next one may warm up meanwhile. Adds
  /// the time that this takes to `phase_ms`, if it is worth recording.
  virtual void make_next_ready(std::map<std::string, double>& /*phase_ms*/) {}
  /// Waits for what still warms up, so that nothing runs during a measurement.
  virtual void wait_idle(Deadline /*deadline*/) {}
};

/// The slot that a contract works on; outlives the contract.
struct ContractSlot {
  const SandboxOptions& options;
  const GpuAccess* gpu = nullptr;                   // none: a CPU slot
  std::string architecture = default_architecture;  // for which device code is compiled
};

/// Names and values of extents.
using Extents = std::vector<std::pair<std::string, int64_t>>;

/// Each extent once, under the name that plans use, in order of first appearance.
Extents distinct_extents(const TaskSignature& signature);

/// Every extent of every tensor, in the order of the signature: the third argument of `solve`.
/// Where two extents are equal, both are there, so that an index means the same for all sizes.
Extents all_extents(const TaskSignature& signature);

std::vector<int64_t> values_of(const Extents& extents);

/// What an agent without a workspace needs to write a first submission.
struct SubmissionForm {
  std::string entry_point;   // what the judge calls
  std::string compile_line;  // how the judge builds it
  FileSet files;             // a template: it builds, but leaves the outputs to be written
};

/// On what a contract's candidates run.
enum class RunsOn : uint8_t {
  cpu,
  gpu,
  task,  // on the device that the task names, else on a GPU if there is one
};

/// What a contract is on any machine.
struct ContractEntry {
  std::string_view name;
  std::vector<std::string_view> files;    // each identifies a folder of this contract
  std::vector<std::string_view> endings;  // of the name of a solution that is one file
  std::string_view required_file;   // a solution contains it; empty: `build` names what is missing
  std::string_view solution_files;  // what an agent is asked to write

  // What an agent reads about a task's tensors: a heading, the lane, lines.
  std::string_view tensors_heading;
  bool names_lane = true;
  std::string (*tensor_lines)(const TaskSignature&) = nullptr;
  Extents (*dims)(const TaskSignature&) = distinct_extents;  // of brief prompts and task.json

  RunsOn runs_on = RunsOn::cpu;
  bool explains = false;                  // answers `Request::explain`
  bool staged = false;                    // a candidate is shown a stage, not the bench
  JailKind jail = JailKind::run;          // whose primitives the trust class rests on
  TrustClass trust = TrustClass::commit;  // if nothing lowers it
  Result<std::unique_ptr<Contract>> (*open)(const ContractSlot&) = nullptr;
  // Null: a solution cannot be exported.
  LibraryBuild (*library_build)() = nullptr;
  SubmissionForm (*form)(const TaskSignature&) = nullptr;
};

using ContractList = std::vector<const ContractEntry*>;

/// In the order of WARPSMITH_CONTRACTS (CMakeLists.txt of the root), the first of which is what
/// `check` falls back to.
const ContractList& all_contracts();

/// Null if none has that name.
const ContractEntry* find_contract(std::string_view name,
                                   const ContractList& contracts = all_contracts());

/// Requires the name of a contract.
const ContractEntry& contract_named(std::string_view name);

/// In the order of `all_contracts`.
std::vector<std::string> contract_names();

/// How prompts and task.json name a type: a boolean is `bool` there.
inline std::string_view dtype_name(Dtype dtype) {
  return dtype == Dtype::boolean ? "bool" : to_string(dtype);
}

/// The type of an element in C and C++; types with two bytes for a float are named by `half` and
/// `bfloat16`.
std::string element_type(Dtype dtype, std::string_view half, std::string_view bfloat16);

/// A tensor's name as a variable of C++, CUDA or Python: "linear.weight" is linear_weight.
std::string variable_name(std::string_view tensor);

/// "parameter f32 [1024]".
std::string tensor_summary(const TensorSpec& tensor);

/// One line per buffer, e.g. `in[1] weight f32 [1024]`, then `dims 256 1024`. No trailing newline.
std::string buffer_lines(const TaskSignature& signature, const Extents& dims);

/// The path of a contract's SKILL.md, which teaches agents to write for it, below the source
/// folder.
std::string skill_file(std::string_view contract);

}  // namespace warpsmith::sandbox
