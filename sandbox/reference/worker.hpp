// SPDX-License-Identifier: Apache-2.0
// Our side of the reference worker: a jailed Python process that holds torch and runs tasks.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/process/frame_socket.hpp"
#include "runtime/result.hpp"
#include "runtime/task.hpp"
#include "sandbox/commit/contestant.hpp"
#include "sandbox/commit/shared_buffers.hpp"
#include "sandbox/device/gpu_access.hpp"
#include "sandbox/profile/baseline_kernels.hpp"
#include "sandbox/reference/baseline.hpp"
#include "sandbox/reference/description.hpp"

namespace warpsmith::sandbox {

struct WorkerOptions {
  std::string python;        // interpreter that holds torch
  std::string folder;        // sandbox/reference/worker
  std::string cache_folder;  // inductor's artefacts live in a folder below it
  std::optional<int> core;
  std::optional<GpuAccess> gpu;  // none: everything runs on the CPU
  std::optional<int> turns;      // lock of a GPU that others use too (open_lease); not owned
};

/// Of `ReferenceWorker::compile`.
struct BaselineReady {
  double seconds = 0;
  bool ready = false;
  std::string reason;  // why it is not
};

/// The memory that a session of the worker shares with us. All of it outlives the session.
/// In this order: inputs, the worker's own outputs, the result (references, or drawn inputs).
struct SessionMemory {
  BufferLayout layout;
  std::array<int, 3> descriptors{-1, -1, -1};  // not owned
  std::array<uint64_t, 3> bytes{};
  bool on_device = false;  // else the host's memory
};

/// How a session runs.
struct SessionOptions {
  int evaluations = 4;  // perturbed ones behind each spread; 0: references only
  uint64_t draw_seed = 0;
  bool graphs = false;    // baseline `graphed` is called: a graph per buffer set takes memory
  bool by_clock = false;  // on a GPU: baselines are timed until the processor sees their end
};

/// What tells tasks apart: their text, and the lane that binds their baselines.
std::string task_key(const Task& task);

/// Where the next tensor begins in the result memory: at a multiple of 64 bytes.
uint64_t padded(uint64_t bytes);

/// Bytes of result memory that the references and spreads of a signature take.
uint64_t result_bytes(const TaskSignature& signature);

/// A worker inside the sequential commit: stopped except during these calls. An error means that
/// the worker is of no further use.
class WorkerSession {
 public:
  /// Measures what `noop` and `device_noop` tell: on the quiet core or device of timed calls, and
  /// before the first.
  Result<void> calibrate(Deadline deadline);
  CallResult eager(uint32_t set, Deadline deadline) { return order(0, set, 0, deadline); }
  CallResult compiled(uint32_t set, Deadline deadline) { return order(1, set, 0, deadline); }
  /// Requires a baseline that `ReferenceWorker::compile` called ready.
  CallResult baseline(Baseline which, uint32_t set, Deadline deadline);

  /// Copies the last baseline's outputs into the worker's output memory of `set`.
  Result<void> collect(uint32_t set, Deadline deadline) { return aside(2, set, 0, deadline); }
  /// Float64 outputs of `set`'s contents, then spreads, into the result memory (`reference_of`).
  Result<void> reference(uint32_t set, Deadline deadline) { return aside(3, set, 0, deadline); }
  /// Integer and boolean inputs of a further draw, then the parameters of such types as they are,
  /// into the result memory one after the other, each at a multiple of 64 bytes.
  Result<void> draw(Deadline deadline) { return aside(4, 0, 0, deadline); }
  /// Outputs of wrong answer `index` into the output memory; false where it does not apply.
  Result<bool> mutant(uint32_t set, uint32_t index, Deadline deadline);
  /// Outputs of float32 evaluation `index` of the honest ones into the output memory; what
  /// `reference` left stays.
  Result<void> honest(uint32_t set, uint32_t index, Deadline deadline) {
    return aside(7, set, index, deadline);
  }
  /// Lets go of the last baseline's outputs, so that freeing them is not timed.
  Result<void> forget(Deadline deadline) { return aside(6, 0, 0, deadline); }

  /// Back to commands. The session is over.
  Result<void> leave(Deadline deadline) { return contestant_.leave(deadline); }
  std::chrono::nanoseconds noop() const { return contestant_.noop(); }
  std::chrono::nanoseconds device_noop() const { return contestant_.device_noop(); }
  pid_t pid() { return contestant_.process().pid(); }
  bool alive() { return contestant_.process().alive(); }
  /// What the worker wrote about its last call, which failed; it still lives.
  std::string said() const { return contestant_.said(); }

  explicit WorkerSession(Contestant contestant) : contestant_(std::move(contestant)) {}

 private:
  CallResult order(uint32_t what, uint32_t set, uint32_t argument, Deadline deadline) {
    return contestant_.call(set | (what << 16U) | (argument << 24U), deadline);
  }
  Result<void> aside(uint32_t what, uint32_t set, uint32_t argument, Deadline deadline);

  Contestant contestant_;
};

/// One process. After any error but a refusal it must be replaced: its state is unknown.
class ReferenceWorker {
 public:
  static Result<ReferenceWorker> start(const WorkerOptions& options, Deadline deadline);

  /// Loads a task if need be. Refused: `invalid_argument`, with the place; no room now: `capacity`.
  Result<TaskDescription> load(const Task& task, Deadline deadline);
  /// Of a task that need not fit this device: nothing of it can be judged then. Refused ones as by
  /// `load`.
  Result<TaskSignature> signature(const Task& task, Deadline deadline);
  /// Makes a baseline ready. One that the task cannot have is no error: the answer says why.
  Result<BaselineReady> compile(const Task& task, Baseline which, Deadline deadline);
  /// Kernels of one warm call of eager and of torch.compile. GPUs only: a refusal is
  /// `invalid_argument`. A baseline that cannot be had says so itself.
  Result<BaselineKernels> profile(const Task& task, Deadline deadline);
  /// Enters the commit protocol with a loaded task.
  Result<WorkerSession> enter(const Task& task, const SessionMemory& memory,
                              const SessionOptions& options, Deadline deadline);
  /// Call after `WorkerSession::leave`: reads the answer that ends the stay, with the text of the
  /// last call that failed (empty if none did).
  Result<std::string> finish(Deadline deadline);
  /// Instead of both, after a call of the session that failed: adds what the task raised, if the
  /// worker can still say it.
  Error with_cause(Error error, WorkerSession& session);

  /// Versions of torch, Python and the worker's own sources, one line; part of cache keys.
  const std::string& stack() const { return stack_; }
  bool alive() { return process_->alive(); }

 private:
  ReferenceWorker(std::shared_ptr<JailedProcess> process, FrameSocket socket)
      : process_(std::move(process)), socket_(std::move(socket)) {}
  Result<std::string> ask(const std::string& request, Deadline deadline);
  /// The answer to a request that carries the task.
  Result<std::string> ask_about(const char* what, const Task& task, Deadline deadline);
  Result<std::string> answer(Deadline deadline);
  /// Says how the process ended, if that is why the peer is lost.
  Error explain(Error error);

  std::shared_ptr<JailedProcess> process_;
  FrameSocket socket_;
  std::string stack_;
};

}  // namespace warpsmith::sandbox
