// SPDX-License-Identifier: Apache-2.0
// The client of the reference worker, a jailed Python process with torch that runs tasks.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/process/frame_socket.hpp"
#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "sandbox/commit/contestant.hpp"
#include "sandbox/commit/shared_buffers.hpp"
#include "sandbox/device/gpu_access.hpp"
#include "sandbox/jail/jail.hpp"
#include "sandbox/profile/baseline_kernels.hpp"
#include "sandbox/protocol/requests.hpp"
#include "sandbox/reference/baseline.hpp"
#include "sandbox/reference/description.hpp"

namespace warpsmith::sandbox {

/// In the source folder: the modules that all Python workers use.
inline constexpr const char* shared_modules = "runtime/python";

/// sandbox/reference/worker: the Python files of every process that runs torch.
std::string worker_folder();

struct WorkerOptions {
  std::string python;  // interpreter that holds torch
  std::string folder = worker_folder();
  std::string cache_folder;  // contains a folder with inductor's artefacts
  std::optional<int> core;
  std::vector<int> compile_cores;  // for a search's compilers; empty: its own core
  std::optional<GpuAccess> gpu;    // none: everything runs on the CPU
  std::optional<int> turns;  // lock of a GPU shared with other services (open_lease); not owned
};

/// The result of `ReferenceWorker::compile`.
struct BaselineReady {
  double seconds = 0;
  bool ready = false;
  std::string reason;  // why it is not, or why eager takes the place of torch.compile
};

/// The memory that a session shares with the worker: inputs, the worker's outputs, and the result
/// (references, or drawn inputs), in this order. It outlives the session.
struct SessionMemory {
  BufferLayout layout;
  std::array<int, 3> descriptors{-1, -1, -1};  // not owned
  std::array<uint64_t, 3> bytes{};
  bool on_device = false;  // else the host's memory
};

/// How a session runs.
struct SessionOptions {
  int evaluations = 4;  // perturbed ones for each spread
  uint64_t draw_seed = 0;
  bool graphs = false;    // for baseline `graphed`: a graph per buffer set takes memory
  bool by_clock = false;  // on a GPU: a baseline's time ends when the processor sees its end
};

/// Identifies a task by its text and the precision lane of its baselines.
std::string task_key(const Task& task);

/// `bytes` rounded up to a multiple of 64, where the next tensor begins in the result memory.
uint64_t padded(uint64_t bytes);

/// Bytes of result memory: for references and spreads, or else for drawn integers and booleans.
uint64_t result_bytes(const TaskSignature& signature);

/// A worker inside the sequential commit: it is stopped except during these calls. After an error
/// it must be replaced.
class WorkerSession {
 public:
  /// Measures `noop` and `device_noop`, again at each call. Call it before the first timed call, on
  /// its quiet core or device.
  OrFailure<void> calibrate(Patience patience);
  CallResult eager(uint32_t set, Patience patience) { return order(0, set, 0, patience); }
  CallResult compiled(uint32_t set, Patience patience) { return order(1, set, 0, patience); }
  /// Requires a baseline that `ReferenceWorker::compile` made ready.
  CallResult baseline(Baseline which, uint32_t set, Patience patience);

  /// Copies the last baseline's outputs into the worker's output memory of `set`.
  OrFailure<void> collect(uint32_t set, Patience patience) {
    return untimed_call(2, set, 0, patience);
  }
  /// Float64 outputs of `set`'s contents, then spreads, into the result memory (`reference_of`).
  OrFailure<void> reference(uint32_t set, Patience patience) {
    return untimed_call(3, set, 0, patience);
  }
  /// The same without the spreads.
  OrFailure<void> values(uint32_t set, Patience patience) {
    return untimed_call(3, set, 1, patience);
  }
  /// Integer and boolean inputs of a further draw, then the parameters of such types as they are,
  /// into the result memory one after the other, each at a multiple of 64 bytes.
  OrFailure<void> draw(Patience patience) { return untimed_call(4, 0, 0, patience); }
  /// Writes the outputs of wrong answer `index` into the output memory; false if it does not apply.
  OrFailure<bool> mutant(uint32_t set, uint32_t index, Patience patience) {
    return asked(5, set, index, patience);
  }
  /// Writes the outputs of honest float32 evaluation `index` into the output memory. The result
  /// memory stays.
  OrFailure<void> honest(uint32_t set, uint32_t index, Patience patience) {
    return untimed_call(7, set, index, patience);
  }
  /// Whether the exact result of wrong answer `index` differs from the reference of `set`, which
  /// the result memory must contain, by more than float64's rounding.
  OrFailure<bool> has_effect(uint32_t set, uint32_t index, Patience patience) {
    return asked(10, set, index, patience);
  }
  /// In the worker's outputs of `set`, replaces the index of one of several equal elements by the
  /// reference's choice. False if nothing changed.
  OrFailure<bool> settle(uint32_t set, Patience patience) { return asked(11, set, 0, patience); }
  /// Whether eager's outputs are finite on the contents of `set`, and not close to the largest
  /// number of their type.
  OrFailure<bool> is_finite(uint32_t set, Patience patience) { return asked(12, set, 0, patience); }
  /// Frees the last baseline's outputs, so that freeing them is not timed.
  OrFailure<void> free_outputs(Patience patience) { return untimed_call(6, 0, 0, patience); }

  /// Ends the session: the worker reads commands again.
  OrFailure<void> leave(Patience patience) { return contestant_.leave(patience); }
  std::chrono::nanoseconds noop() const { return contestant_.noop(); }
  std::chrono::nanoseconds device_noop() const { return contestant_.device_noop(); }
  pid_t pid() { return contestant_.process().pid(); }
  bool alive() { return contestant_.process().alive(); }
  /// The worker's message about its last call, which failed while the worker lived on.
  std::string last_error() const { return contestant_.reported_text(); }

  explicit WorkerSession(Contestant contestant) : contestant_(std::move(contestant)) {}

 private:
  CallResult order(uint32_t what, uint32_t set, uint32_t argument, Patience patience) {
    return contestant_.call(set | (what << 12U) | (argument << 16U), patience);
  }
  OrFailure<void> untimed_call(uint32_t what, uint32_t set, uint32_t argument, Patience patience);
  /// An untimed call that answers yes or no.
  OrFailure<bool> asked(uint32_t what, uint32_t set, uint32_t argument, Patience patience);

  Contestant contestant_;
};

/// One process. After any error but a refusal its state is unknown and it must be replaced.
class ReferenceWorker {
 public:
  /// Starts the process, which imports torch in the background.
  static Result<ReferenceWorker> begin(const WorkerOptions& options);
  /// Waits until it has imported torch. Every later call requires it.
  OrFailure<void> ready(Patience patience);
  /// Both.
  static OrFailure<ReferenceWorker> start(const WorkerOptions& options, Patience patience);

  /// Loads a task unless it is loaded. A refusal blames the task; `capacity` (no room now) blames
  /// the machine.
  OrFailure<TaskDescription> load(const Task& task, Patience patience);
  /// The signature of a task that need not fit this device. Refuses like `load`.
  OrFailure<TaskSignature> signature(const Task& task, Patience patience);
  /// Bytes of a task's tensors, from shapes alone; 0 if they depend on values.
  OrFailure<uint64_t> size(const Task& task, Patience patience);
  /// Makes a baseline ready. If the task cannot have it, the answer says why; that is not an error.
  /// A search for fast kernels waits for the device's lease, so the caller must not hold it.
  /// `within`, if positive: after that time eager takes the place of torch.compile.
  OrFailure<BaselineReady> compile(const Task& task, Baseline which, Patience patience,
                                   std::chrono::milliseconds within = {});
  /// Eager takes the place of torch.compile, for the reason that an earlier worker gave.
  OrFailure<BaselineReady> do_without_compile(const Task& task, const std::string& reason,
                                              Patience patience);
  /// Kernels of one warm call of eager and of torch.compile. Refused without a GPU. A baseline that
  /// failed contains the reason.
  OrFailure<BaselineKernels> profile(const Task& task, Patience patience);
  /// Starts a session with a loaded task.
  OrFailure<WorkerSession> enter(const Task& task, const SessionMemory& memory,
                                 const SessionOptions& options, Patience patience);
  /// Call it after `WorkerSession::leave`: returns the message of the last call that failed, empty
  /// if none did.
  OrFailure<std::string> finish(Patience patience);
  /// Instead of both, after a failed call of the session: adds the exception that the task raised,
  /// if the worker still answers.
  Failure with_cause(Failure failure, WorkerSession& session);

  /// One line with the versions of torch, Python and the worker's sources; part of cache keys.
  const std::string& stack() const { return stack_; }
  bool alive() { return process_->alive(); }

 private:
  ReferenceWorker(std::shared_ptr<JailedProcess> process, FrameSocket socket)
      : process_(std::move(process)), socket_(std::move(socket)) {}
  OrFailure<std::string> ask(const std::string& request, Patience patience);
  OrFailure<BaselineReady> made_ready(const std::string& request, Patience patience);
  /// Sends a request that carries the task, and returns the answer.
  OrFailure<std::string> ask_about(const char* what, const Task& task, Patience patience);
  OrFailure<std::string> answer(Patience patience);
  /// Adds how the process ended if that is why the peer is lost. Ends one that did not answer.
  Failure explain(Error error, Patience patience);

  std::shared_ptr<JailedProcess> process_;
  FrameSocket socket_;
  std::string hello_, sources_;
  std::string stack_;
};

/// Makes the remaining baselines ready in a worker that has loaded the task. Each may take half of
/// the remaining time; the first one of a new software stack takes minutes. A baseline that fails
/// is dropped. An error means that the worker has ended or must be ended; if a baseline was the
/// cause, it is dropped by the second time at the latest. `seconds` receives the time of each one.
OrFailure<void> prepare_baselines(ReferenceWorker& worker, const Task& task,
                                  FurtherBaselines& further, Patience patience,
                                  const Progress& progress,
                                  std::map<Baseline, double>* seconds = nullptr);

/// `ReferenceWorker::enter`. Drops baseline `graphed` if its graphs do not fit the device's memory.
OrFailure<WorkerSession> enter_with_baselines(ReferenceWorker& worker, const Task& task,
                                              const SessionMemory& memory, SessionOptions options,
                                              FurtherBaselines& further, Patience patience);

/// The jail of a Python process with torch inside the sequential commit: the reference worker, or
/// the runner of contract `host`. It runs `script`, a file of `folder`, which it shows as /worker,
/// with `shared_modules` as /shared. One thread. malloc keeps freed memory, as in a long-running
/// program; else each call would pay page faults for its outputs.
Result<JailSpec> python_jail(const std::string& python, const std::string& folder,
                             const std::string& script);

/// Shows a GPU's nodes and driver; torch brings its other libraries.
void add_gpu(JailSpec& spec, const GpuAccess& gpu);

}  // namespace warpsmith::sandbox
