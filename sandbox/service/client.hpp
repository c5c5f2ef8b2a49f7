// SPDX-License-Identifier: Apache-2.0
// The main program's side of the sandbox program: starts it, asks, waits with deadlines.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/clock.hpp"
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
  std::vector<int> cores;   // of a service without a slot, with all its jails; empty: every core
  std::optional<int> gpu;   // the slot's GPU; none: a CPU slot
  uint64_t compile_cache_bytes = 512ULL << 20U;
  uint64_t candidate_memory_bytes = 2ULL << 30U;
  uint64_t source_bytes = 256ULL << 10U;  // largest submission compiled
  uint64_t message_bytes = 64ULL << 10U;  // kept of the compiler's messages
  uint32_t compile_tasks = 64;            // processes and threads of one compilation
  uint32_t compile_ms = 20'000;           // wall time of one compilation
  uint32_t call_ms = 5'000;               // wall time of one call of the candidate, at most
  uint32_t ingest_ms = 300'000;           // wall time of measuring one task, the worker being up
  int32_t verified_sets = 5;
  int32_t timed_blocks = 8;            // at least
  std::vector<std::string> baselines;  // further ones by name: reference/baseline.hpp
  Numerics numerics = Numerics::strict;
  bool require_cgroups = false;  // no jail of a candidate or an agent without its cgroup limits

  template <class Archive>
  void serialize(Archive& archive) {
    archive(program, python, cache_dir, core, gpu, compile_cache_bytes, candidate_memory_bytes);
    archive(source_bytes, message_bytes, compile_tasks, compile_ms, call_ms, ingest_ms);
    archive(verified_sets, timed_blocks, baselines, numerics, require_cgroups, cores);
  }
};

/// Blocking calls, of one thread at a time: what asks the service waits for the call in hand, but
/// `on_progress`, `lost` and the end are unlocked. When the service dies (or a call's deadline
/// passes, after which its state is unknown) the client is `lost`: every later call fails at once
/// and the owner starts a new client. Destruction ends the service and everything in its jails.
class Client {
 public:
  /// `ender`, if any, ends the service from elsewhere; it outlives the client.
  static Result<Client> start(const SandboxOptions& options, Deadline deadline,
                              std::shared_ptr<EndSwitch> ender = nullptr);

  /// Infrastructure failures are values of the variant.
  Judgement evaluate(const EvaluateRequest& request, Deadline deadline);
  /// Measures a task and caches the facts. A refused task: code `invalid_argument` and the reason.
  Result<TaskFacts> ingest(const Task& task, Deadline deadline);
  Result<ShellResult> shell(const ShellRequest& request, Deadline deadline);
  Result<HealthReport> health(Deadline deadline);
  /// Asks the service to end and waits for it.
  void shutdown(Deadline deadline);

  /// Hears what `evaluate` and `ingest` are doing, on the thread that called them.
  void on_progress(Progress progress);

  bool lost() const;
  int pid() const;

  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

 private:
  struct State;
  explicit Client(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace warpsmith::sandbox
