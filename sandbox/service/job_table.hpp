// SPDX-License-Identifier: Apache-2.0
// The agents' background jobs: shell jails that run while the service does other work.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "runtime/clock.hpp"
#include "runtime/result.hpp"
#include "sandbox/jail/jail.hpp"
#include "sandbox/protocol/requests.hpp"

namespace warpsmith::sandbox {

/// A bound that all workspaces of one service share.
inline constexpr size_t max_jobs = 256;

/// Owns the jobs; the destructor kills and reaps them. A job holds at most `output_bytes` of each
/// stream that was not looked at; what it writes beyond is dropped. For the thread that starts
/// jails.
class JobTable {
 public:
  explicit JobTable(bool cgroup_required) : cgroup_required_(cgroup_required) {}

  /// An error is a failure of the sandbox.
  Result<JobReport> carry_out(const JobRequest& request);
  /// Collects output, and kills jobs beyond their lifetime or their workspace's limits. Call it a
  /// few times a second: a job waits when the pipes are full.
  void tend();
  bool empty() const { return jobs_.empty(); }

 private:
  using Place = std::pair<std::string, uint32_t>;  // workspace, id
  struct Job {
    std::unique_ptr<JailedProcess> jail;
    Deadline end;
    bool over = false;
    ShellResult result;  // once it is over
  };

  Result<JobReport> start(const JobRequest& request);
  JobReport look(const Place& place);
  JobReport end(const Place& place);
  void pause(const std::string& workspace);
  void resume(const std::string& workspace);
  void forget(const std::string& workspace);
  void tend(const std::string& workspace, Job& job);
  size_t count(const std::string& workspace) const;

  bool cgroup_required_;
  std::map<Place, Job> jobs_;
};

}  // namespace warpsmith::sandbox
