// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jail/jail_limits.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "runtime/run/durable_file.hpp"

namespace warpsmith::sandbox {
namespace {

/// The number of tasks that this user runs: RLIMIT_NPROC counts them all.
uint64_t tasks_of_user() {
  constexpr size_t most_bytes = 1U << 16U;
  uint64_t count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string status = read_text_file(entry.path() / "status", most_bytes).value_or("");
    const size_t user = status.find("\nUid:\t"), threads = status.find("\nThreads:\t");
    if (user == std::string::npos || threads == std::string::npos) continue;
    const bool ours = std::strtoul(status.c_str() + user + 6, nullptr, 10) == ::getuid();
    if (ours) count += std::strtoul(status.c_str() + threads + 10, nullptr, 10);
  }
  return count;
}

/// A GPU's driver reserves far more addresses than it uses memory.
bool limits_addresses(const JailSpec& spec) {
  return spec.devices.empty();
}

/// bubblewrap cannot limit the number of files of a tmpfs. A cgroup charges their memory to the
/// jail; without one the kernel's default holds, half of all pages.
std::string tmpfs_in_force(uint64_t bytes, bool memory_is_limited) {
  if (bytes == 0) return "none";
  return "tmpfs, " + std::to_string(bytes) + " bytes, files " +
         (memory_is_limited ? "charged to the memory limit" : "not limited");
}

std::string list_of(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : " ") + name;
  return all;
}

/// RLIMIT_NPROC has no effect for root.
std::string tasks_in_force() {
  return ::geteuid() == 0 ? "not limited: root, and no cgroup" : "rlimit";
}

}  // namespace

std::vector<ResourceLimit> resource_limits(const JailSpec& spec, const JailCgroup& cgroup) {
  const JailLimits& limits = spec.limits;
  std::vector<ResourceLimit> all{{RLIMIT_CORE, 0},
                                 {RLIMIT_FSIZE, limits.file_bytes},
                                 {RLIMIT_NOFILE, limits.open_files},
                                 {RLIMIT_CPU, static_cast<uint64_t>(limits.cpu.count())}};
  if (!cgroup.limits_memory() && limits_addresses(spec)) {
    all.push_back({RLIMIT_AS, limits.memory_bytes});
  }
  if (!cgroup.limits_processes() && spec.kind != JailKind::run) {
    all.push_back({RLIMIT_NPROC, tasks_of_user() + limits.processes});
  }
  return all;
}

std::map<std::string, std::string> limits_in_force(const JailSpec& spec, const JailCgroup& cgroup) {
  const JailLimits& limits = spec.limits;
  const bool alone = spec.kind == JailKind::run;  // one task, and no tmpfs
  std::map<std::string, std::string> report = spec.known;
  report["memory"] = limits_addresses(spec)
                         ? "rlimit, " + std::to_string(limits.memory_bytes) + " bytes of addresses"
                         : "not limited: a GPU's driver, and no cgroup";
  report["processes"] = alone ? "seccomp, one task" : tasks_in_force();
  for (const auto& [primitive, in_force] : cgroup.report()) {
    if (primitive != "processes" || !alone) report[primitive] = in_force;
  }
  report["cpu_time"] = "rlimit, " + std::to_string(limits.cpu.count()) + " s";
  report["file_size"] = "rlimit, " + std::to_string(limits.file_bytes) + " bytes";
  report["core_dumps"] = "none";
  report["root"] = "read-only, listed paths";
  if (!spec.devices.empty()) report["devices"] = list_of(spec.devices);
  report["proc"] = "own";
  report["tmp"] = tmpfs_in_force(limits.tmp_bytes, cgroup.limits_memory());
  report["shm"] = tmpfs_in_force(alone ? 0 : shm_bytes, cgroup.limits_memory());
  const bool pinned = spec.cores.size() == 1;
  report["core"] = pinned ? "pinned to " + std::to_string(spec.cores.front()) : "any";
  return report;
}

}  // namespace warpsmith::sandbox
