// SPDX-License-Identifier: Apache-2.0
// The primitives that a verdict of the full trust class requires.
#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/cuda/driver.hpp"
#include "sandbox/jail/jail.hpp"
#include "sandbox/jail/seccomp_filter.hpp"

namespace warpsmith::sandbox {
namespace {

/// A primitive, and how its entry in a report begins if it is in force.
using Required = std::pair<std::string_view, std::string_view>;

}  // namespace

std::vector<std::string> missing_primitives(const std::map<std::string, std::string>& report,
                                            JailKind kind) {
  const std::string filter = seccomp_name(kind);
  // An address space limit is not enough: only a cgroup counts memory that the kernel allocates.
  std::vector<Required> required{
      {"capabilities", "none"}, {"core_dumps", "none"},
      {"memory", "cgroup v"},   {"namespaces", "user,pid,mnt,net,ipc,uts,cgroup"},
      {"no_new_privs", "yes"},  {"proc", "own"},
      {"root", "read-only"},    {"seccomp", filter}};
  if (kind == JailKind::run) {
    // Without the account, work after `done` would not be charged. The other kinds need threads for
    // the driver.
    required.insert(required.end(),
                    {{"core_account", "schedstat"}, {"processes", "seccomp, one task"}});
  }
  // A real GPU, whose kernels cannot reach the launcher's memory: they could forge its answers.
  if (kind == JailKind::launch) {
    required.insert(required.end(),
                    {{"devices", "/dev/nvidia"}, {"host_memory", cuda::out_of_reach}});
  }
  std::ranges::sort(required);
  std::vector<std::string> missing;
  for (const auto& [primitive, in_force] : required) {
    const auto found = report.find(std::string(primitive));
    if (found == report.end() || !found->second.starts_with(in_force)) {
      missing.emplace_back(primitive);
    }
  }
  return missing;
}

bool is_full_jail(const std::map<std::string, std::string>& report, JailKind kind) {
  return missing_primitives(report, kind).empty();
}

}  // namespace warpsmith::sandbox
