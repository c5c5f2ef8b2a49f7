// SPDX-License-Identifier: Apache-2.0
// The main program's side of the sandbox program: starts it, asks, waits with deadlines.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "sandbox/service/requests.hpp"

namespace warpsmith::sandbox {

/// One service process is one slot. Folders are made if missing; several services may share them.
struct SandboxOptions {
  std::string program;      // path of warpsmith-sandbox; empty: beside this executable
  std::string python;       // interpreter that holds torch; empty: no reference worker
  std::string cache_dir;    // compile cache and ingest facts
  std::optional<int> core;  // the slot's core; none: not pinned
  uint64_t compile_cache_bytes = 512ULL << 20U;
  uint64_t candidate_memory_bytes = 2ULL << 30U;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(program, python, cache_dir, core, compile_cache_bytes, candidate_memory_bytes);
  }
};

/// Blocking calls, one at a time, from any thread. When the service dies (or a call's deadline
/// passes, after which its state is unknown) the client is `lost`: every later call fails at once
/// and the owner starts a new client. Destruction ends the service and everything in its jails.
class Client {
 public:
  static Result<Client> start(const SandboxOptions& options, Deadline deadline);

  /// Infrastructure failures are values of the variant.
  Judgement evaluate(const EvaluateRequest& request, Deadline deadline);
  /// Measures a task and caches the facts. A refused task: code `invalid_argument` and the reason.
  Result<TaskFacts> ingest(const Task& task, Deadline deadline);
  Result<ShellResult> shell(const ShellRequest& request, Deadline deadline);
  Result<HealthReport> health(Deadline deadline);
  /// Asks the service to end and waits for it.
  void shutdown(Deadline deadline);

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
