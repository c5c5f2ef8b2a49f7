// SPDX-License-Identifier: Apache-2.0
// Which primitives a verdict of the full trust class rests on.
#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/cuda/driver.hpp"
#include "sandbox/jail/jail.hpp"
#include "sandbox/jail/seccomp_filter.hpp"

namespace warpsmith::sandbox {
namespace {

/// How a report's entry begins when the primitive is in force.
using Required = std::pair<std::string_view, std::string_view>;

}  // namespace

std::vector<std::string> missing_primitives(const std::map<std::string, std::string>& report,
                                            JailKind kind) {
  const std::string filter = seccomp_name(kind);
  // Address space is no stand-in for memory: a cgroup also counts what the kernel holds for it.
  std::vector<Required> required{
      {"capabilities", "none"}, {"core_dumps", "none"},
      {"memory", "cgroup v"},   {"namespaces", "user,pid,mnt,net,ipc,uts,cgroup"},
      {"no_new_privs", "yes"},  {"proc", "own"},
      {"root", "read-only"},    {"seccomp", filter}};
  if (kind == JailKind::run) {
    // Without the account a call that goes on after its `done` is charged nothing for that. A
    // driver has threads of its own; of a candidate nothing runs there.
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
