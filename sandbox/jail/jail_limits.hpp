// SPDX-License-Identifier: Apache-2.0
// The limits of a jail and their entries in its report: control groups (version 1 or 2) where this
// process may write them, else resource limits.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/process/child.hpp"
#include "runtime/process/unique_fd.hpp"
#include "runtime/result.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

/// One mount of a cgroup hierarchy, with the folder of this process's group in it.
struct CgroupMount {
  bool v2 = false;
  bool memory = false, pids = false;  // its controllers
  std::string folder;
  std::string top;  // where the hierarchy is mounted
};

/// Parses the text of /proc/self/mountinfo and /proc/self/cgroup. Pure.
std::vector<CgroupMount> parse_cgroup_mounts(const std::string& mountinfo,
                                             const std::string& own_groups);

/// The groups of one jail. The child joins them before exec.
class JailCgroup {
 public:
  /// Never fails: `report` lacks a limit that could not be set.
  static JailCgroup make(const JailLimits& limits);

  /// The child writes "0" to these descriptors before exec.
  std::vector<int> join_descriptors() const;
  bool limits_memory() const { return report_.contains("memory"); }
  bool limits_processes() const { return report_.contains("processes"); }
  const std::map<std::string, std::string>& report() const { return report_; }
  /// True if the kernel killed a process of the group because of its memory limit.
  bool out_of_memory() const;
  /// Kills the processes that are left and removes the folders. The destructor calls it.
  void remove();

  JailCgroup() = default;
  JailCgroup(JailCgroup&&) noexcept = default;
  JailCgroup& operator=(JailCgroup&& other) noexcept;
  ~JailCgroup() { remove(); }

 private:
  struct Group {
    std::string folder;
    bool v2 = false, memory = false;
    UniqueFd join;
  };
  static std::string join_file(const Group& group);
  void add(const CgroupMount& mount, const JailLimits& limits);

  std::vector<Group> groups_;
  std::map<std::string, std::string> report_;
};

/// `unsupported`, with the limits that a group's report lacks, if any. Pure.
Result<void> all_in_force(const std::map<std::string, std::string>& report);

/// `all_in_force` for a group that is made and removed here.
Result<void> probe_cgroups();

/// Folders of groups whose owner, the process with the number in their name, has ended.
std::vector<std::string> stale_cgroups();
/// Removes them. A service calls it when it starts.
void sweep_stale_cgroups();
/// Removes every group that a process made, and kills what still runs in it. `owner` is this
/// process or a service that has ended.
void remove_cgroups_of(pid_t owner);

/// Limits that every machine supports, and substitutes for the cgroup limits that are missing.
std::vector<ResourceLimit> resource_limits(const JailSpec& spec, const JailCgroup& cgroup);

/// Primitive → what is in force, as far as it is known before the process runs.
std::map<std::string, std::string> limits_in_force(const JailSpec& spec, const JailCgroup& cgroup);

}  // namespace warpsmith::sandbox
