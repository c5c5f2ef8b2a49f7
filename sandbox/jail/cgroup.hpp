// SPDX-License-Identifier: Apache-2.0
// Memory and task limits by control groups, version 1 or 2, where this machine lets us write them.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/process/unique_fd.hpp"
#include "runtime/result.hpp"
#include "sandbox/jail/jail.hpp"

namespace warpsmith::sandbox {

/// One mount of a cgroup hierarchy, with the folder of our own group in it.
struct CgroupMount {
  bool v2 = false;
  bool memory = false, pids = false;  // controllers that it can limit
  std::string folder;
  std::string top;  // where the hierarchy is mounted
};

/// From the text of /proc/self/mountinfo and /proc/self/cgroup. Pure.
std::vector<CgroupMount> parse_cgroup_mounts(const std::string& mountinfo,
                                             const std::string& own_groups);

/// The groups of one jail: made, limited, joined by the child, removed with everything in them.
class JailCgroup {
 public:
  /// Never fails: what cannot be had is missing from `report`.
  static JailCgroup make(const JailLimits& limits);

  /// Descriptors that the child writes "0" to before exec.
  std::vector<int> join_descriptors() const;
  bool limits_memory() const { return report_.contains("memory"); }
  bool limits_processes() const { return report_.contains("processes"); }
  const std::map<std::string, std::string>& report() const { return report_; }
  /// True if the kernel killed a process of the group for want of memory.
  bool out_of_memory() const;
  /// Kills what is left and removes the folders. Called by the destructor.
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

/// For those who want limits or nothing: `unsupported` names what a group's report lacks. Pure.
Result<void> all_in_force(const std::map<std::string, std::string>& report);

/// Whether a jail made now would have its limits by cgroup: makes a group, looks, removes it.
Result<void> probe_cgroups();

/// Folders of groups whose owner (the process number in their name) is gone.
std::vector<std::string> stale_cgroups();
/// Removes groups whose owner (the process number in their name) is gone. Called when a service
/// starts, after a crash of an earlier one.
void sweep_stale_cgroups();
/// Removes every group that a process made, whoever still runs in it: this process, or a service of
/// ours that has ended.
void remove_cgroups_of(pid_t owner);

}  // namespace warpsmith::sandbox
