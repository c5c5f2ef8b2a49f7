// SPDX-License-Identifier: Apache-2.0
// The main program's side of the sandbox service: starts it, sends requests, waits with deadlines.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "runtime/clock.hpp"
#include "runtime/process/child.hpp"
#include "runtime/process/frame_socket.hpp"
#include "runtime/result.hpp"
#include "sandbox/protocol/backend.hpp"
#include "sandbox/protocol/options.hpp"

namespace warpsmith::sandbox {

/// Ends sandbox services from another thread, also during a call. Shared by the owner of a run and
/// the clients of its services. `end_services` ends them with their jails, and no other starts
/// afterwards.
class EndSwitch {
 public:
  /// Shuts down the socket of each service; a call in progress returns `peer_lost`.
  void end_services();

  /// False after `end_services`: the service must not start.
  bool add(int socket);
  /// Call it before the descriptor is closed.
  void remove(int socket);

 private:
  std::mutex mutex_;
  std::set<int> sockets_;
  bool ended_ = false;
};

/// Blocking calls, one at a time: a second thread's call waits for the first. `on_progress`, `lost`
/// and the destructor do not lock. When the service dies, or a call's deadline passes and its state
/// is unknown, the client is `lost`: every later call fails at once, and the owner starts a new
/// client. The destructor ends the service and everything in its jails, unless the service is kept
/// for the next client and no call is in progress.
class Client : public Backend {
 public:
  /// `ender`, if any, can end the service from another thread.
  static Result<Client> start(const SandboxOptions& options, Deadline deadline,
                              std::shared_ptr<EndSwitch> ender = nullptr);

  Judgement evaluate(const EvaluateRequest& request, Deadline deadline) override;
  Result<TaskFacts> ingest(const Task& task, Deadline deadline) override;
  Result<ShellResult> shell(const ShellRequest& request, Deadline deadline);
  /// A job keeps running after the call, until it ends or the service does.
  Result<JobReport> job(const JobRequest& request, Deadline deadline);
  Result<HealthReport> health(Deadline deadline);
  /// Ends the service and waits for it.
  void shutdown(Deadline deadline);

  void on_progress(Progress progress) override;

  bool lost() const override;
  /// 0 for a kept service.
  int pid() const;

  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client() override;

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
