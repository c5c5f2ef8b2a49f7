// SPDX-License-Identifier: Apache-2.0
// The agents' commands in the shell jail: command lines that the caller waits for, and background
// jobs, within the limits of a workspace.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "sandbox/jail/jail.hpp"
#include "sandbox/protocol/requests.hpp"

namespace warpsmith::sandbox {

/// Limits of a workspace while a command runs; beyond them the command is killed.
inline constexpr uint64_t max_workspace_bytes = 256ULL << 20U;
inline constexpr uint64_t max_workspace_entries = 20'000;

/// Working directory, exported variables and functions, which the workspace keeps for the next
/// command. Jobs begin with them, but keep none.
enum class ShellState : uint8_t { kept, read };

/// Runs the command in the workspace, on the calling thread's cores. An error is a failure of the
/// sandbox; everything that the command does is a result. `cgroup_required`: fails unless a cgroup
/// limits the command. `meanwhile` is called every 100 ms.
Result<ShellResult> run_shell(const ShellRequest& request, Deadline deadline,
                              bool cgroup_required = false,
                              const std::function<void()>& meanwhile = {});

/// Starts the command and does not wait for it; the caller watches the workspace and the time.
Result<std::unique_ptr<JailedProcess>> start_command(const ShellRequest& request,
                                                     bool cgroup_required, ShellState state);

/// A bound that all workspaces of one service share.
inline constexpr size_t max_jobs = 256;

/// Background jobs: commands that run while the service does other work. The destructor kills and
/// reaps them. A job keeps at most `output_bytes` of each stream that was not read; what it writes
/// beyond is dropped. For the thread that starts jails.
class JobTable {
 public:
  explicit JobTable(bool cgroup_required) : cgroup_required_(cgroup_required) {}

  /// An error is a failure of the sandbox.
  Result<JobReport> handle(const JobRequest& request);
  /// Collects output, and kills jobs beyond their lifetime or their workspace's limits. Call it a
  /// few times a second: a job waits when the pipes are full.
  void poll();
  bool empty() const { return jobs_.empty(); }

 private:
  using JobKey = std::pair<std::string, uint32_t>;  // workspace, id
  struct Job {
    std::unique_ptr<JailedProcess> jail;
    Deadline end;
    bool over = false;
    ShellResult result;  // once it is over
  };

  Result<JobReport> start(const JobRequest& request);
  JobReport look(const JobKey& key);
  JobReport end(const JobKey& key);
  void pause(const std::string& workspace);
  void resume(const std::string& workspace);
  void forget(const std::string& workspace);
  void poll(const std::string& workspace, Job& job);
  size_t count(const std::string& workspace) const;

  bool cgroup_required_;
  std::map<JobKey, Job> jobs_;
};

}  // namespace warpsmith::sandbox
