// SPDX-License-Identifier: Apache-2.0
// Which primitives a verdict of the full trust class rests on.
#include <array>
#include <string_view>
#include <utility>

#include "sandbox/jail/jail.hpp"
#include "sandbox/jail/seccomp_filter.hpp"

namespace warpsmith::sandbox {
namespace {

/// How a report's entry begins when the primitive is in force.
using Required = std::pair<std::string_view, std::string_view>;

}  // namespace

std::vector<std::string> missing_primitives(const std::map<std::string, std::string>& report) {
  static const std::string filter = seccomp_name(JailKind::run);
  // Without the account a call that goes on after its `done` is charged nothing for that.
  // Address space is no stand-in for memory: a cgroup also counts what the kernel holds for it.
  const std::array<Required, 10> required{{{"capabilities", "none"},
                                           {"core_account", "schedstat"},
                                           {"core_dumps", "none"},
                                           {"memory", "cgroup v"},
                                           {"namespaces", "user,pid,mnt,net,ipc,uts,cgroup"},
                                           {"no_new_privs", "yes"},
                                           {"proc", "own"},
                                           {"processes", "seccomp, one task"},
                                           {"root", "read-only"},
                                           {"seccomp", filter}}};
  std::vector<std::string> missing;
  for (const auto& [primitive, in_force] : required) {
    const auto found = report.find(std::string(primitive));
    if (found == report.end() || !found->second.starts_with(in_force)) {
      missing.emplace_back(primitive);
    }
  }
  return missing;
}

bool is_full_jail(const std::map<std::string, std::string>& report) {
  return missing_primitives(report).empty();
}

}  // namespace warpsmith::sandbox
