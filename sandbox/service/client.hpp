// SPDX-License-Identifier: Apache-2.0
// The main program's side of the sandbox service: starts it, sends requests, waits with deadlines.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/clock.hpp"
#include "runtime/process/child.hpp"
#include "runtime/process/frame_socket.hpp"
#include "runtime/result.hpp"
#include "sandbox/protocol/progress.hpp"
#include "sandbox/protocol/requests.hpp"
#include "sandbox/service/end_switch.hpp"

namespace warpsmith::sandbox {

/// One service process is one slot. Folders are made if missing; several services may share them.
struct SandboxOptions {
  std::string program;      // path of warpsmith-sandbox; empty: beside this executable
  std::string python;       // interpreter that holds torch; empty: no reference worker
  std::string cache_dir;    // compile cache and ingest facts
  std::optional<int> core;  // the slot's core; none: not pinned
  // Where the compilers of a slot run, or everything of a service without a core; empty: where the
  // calling thread runs.
  std::vector<int> cores;
  std::optional<int> gpu;  // the slot's GPU; none: a CPU slot
  uint64_t compile_cache_bytes = 512ULL << 20U;
  uint64_t candidate_memory_bytes = 2ULL << 30U;
  uint64_t source_bytes = 256ULL << 10U;  // largest submission compiled
  uint64_t message_bytes = 64ULL << 10U;  // kept of the compiler's messages
  uint32_t compile_tasks = 64;            // processes and threads of one compilation
  uint32_t compile_ms = 20'000;           // wall time of one compilation
  uint32_t call_ms = 5'000;               // longest wall time of one call of the candidate
  uint32_t ingest_ms = 300'000;           // wall time to measure one task with a started worker
  int32_t verified_sets = 5;
  int32_t timed_blocks = 8;            // at least
  std::vector<std::string> baselines;  // further ones by name: reference/baseline.hpp
  Numerics numerics = Numerics::strict;
  bool require_cgroups = false;  // refuse jails of candidates and agents without cgroup limits
  uint32_t keep_s = 0;  // how long the service waits for the next client; 0: ends with this one

  template <class Archive>
  void serialize(Archive& archive) {
    archive(program, python, cache_dir, core, gpu, compile_cache_bytes, candidate_memory_bytes);
    archive(source_bytes, message_bytes, compile_tasks, compile_ms, call_ms, ingest_ms);
    archive(verified_sets, timed_blocks, baselines, numerics, require_cgroups, cores, keep_s);
  }
};

/// Blocking calls, one at a time: a second thread's call waits for the first. `on_progress`, `lost`
/// and the destructor do not lock. When the service dies, or a call's deadline passes and its state
/// is unknown, the client is `lost`: every later call fails at once, and the owner starts a new
/// client. The destructor ends the service and everything in its jails, unless the service is kept
/// for the next client and no call is in progress.
class Client {
 public:
  /// `ender`, if any, can end the service from another thread.
  static Result<Client> start(const SandboxOptions& options, Deadline deadline,
                              std::shared_ptr<EndSwitch> ender = nullptr);

  /// An infrastructure failure is a value of the variant.
  Judgement evaluate(const EvaluateRequest& request, Deadline deadline);
  /// Measures a task and caches the facts. `invalid_argument`, with the reason, if it is refused.
  Result<TaskFacts> ingest(const Task& task, Deadline deadline);
  Result<ShellResult> shell(const ShellRequest& request, Deadline deadline);
  /// A job runs on after the call, until it ends or the service does.
  Result<JobReport> job(const JobRequest& request, Deadline deadline);
  Result<HealthReport> health(Deadline deadline);
  /// Ends the service and waits for it.
  void shutdown(Deadline deadline);

  /// Sets the receiver of progress of `evaluate` and `ingest`, called on their thread.
  void on_progress(Progress progress);

  bool lost() const;
  /// 0 for a kept service.
  int pid() const;

  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

 private:
  struct State;
  struct Start {
    Deadline deadline;
    std::shared_ptr<EndSwitch> ender;
  };
  /// Sends the options to the service at the other end. `child`: none for a kept service.
  static Result<Client> greet(std::optional<Child> child, FrameSocket socket,
                              const SandboxOptions& options, const Start& start);
  explicit Client(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace warpsmith::sandbox
