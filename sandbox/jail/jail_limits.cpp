// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jail/jail_limits.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include "runtime/run/durable_file.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_proc_bytes = size_t{1} << 24U;
const std::string group_prefix = "warpsmith-";

/// Empty if it cannot be read: the group or the mount is gone.
std::string text_or_none(const std::string& path) {
  return read_text_file(path, most_proc_bytes).value_or("");
}

bool write_text(const std::string& path, const std::string& text) {
  const UniqueFd fd{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool has_word(const std::string& list, const std::string& word, char separator) {
  std::stringstream words(list);
  for (std::string each; std::getline(words, each, separator);) {
    if (each == word) return true;
  }
  return false;
}

/// The path of this process's group in the hierarchy with this controller; empty: version 2.
std::string own_group(const std::string& own_groups, const std::string& controller) {
  std::stringstream lines(own_groups);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool match =
        controller.empty() ? controllers.empty() : has_word(controllers, controller, ',');
    if (match) return line.substr(second + 1);
  }
  return "/";
}

/// The folder of `group` under a mount whose top is `root`.
std::string folder_of(const std::string& mount_point, const std::string& root, std::string group) {
  if (root != "/" && group.starts_with(root)) group = group.substr(root.size());
  if (group.empty() || group == "/" || group.find("..") != std::string::npos) return mount_point;
  return mount_point + (group.front() == '/' ? "" : "/") + group;
}

void remove_group(const std::string& folder) {
  for (int attempt = 0; attempt < 200; ++attempt) {
    if (::rmdir(folder.c_str()) == 0 || errno == ENOENT) return;
    std::stringstream pids(text_or_none(folder + "/cgroup.procs"));
    for (pid_t pid = 0; pids >> pid;) {
      if (pid > 1) (void)::kill(pid, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

/// The nearest group upward that can enable the controllers for its children. In version 2 a group
/// with processes cannot, and this process's own group has one.
std::string controlling_folder(const CgroupMount& mount) {
  for (fs::path folder = mount.folder;; folder = folder.parent_path()) {
    if (write_text(folder / "cgroup.subtree_control", "+memory +pids")) return folder;
    if (folder == mount.top || folder == folder.parent_path()) return mount.folder;
  }
}

std::vector<CgroupMount> find_mounts() {
  auto all =
      parse_cgroup_mounts(text_or_none("/proc/self/mountinfo"), text_or_none("/proc/self/cgroup"));
  for (CgroupMount& mount : all) {
    if (mount.v2) mount.folder = controlling_folder(mount);
  }
  return all;
}

const std::vector<CgroupMount>& mounts() {
  static const std::vector<CgroupMount> all = find_mounts();
  return all;
}

std::string fresh_name() {
  static std::atomic<uint64_t> count{0};
  return fmt::format("{}{}-{}", group_prefix, ::getpid(), ++count);
}

/// Folders of the groups whose owner satisfies `wanted`.
template <class Predicate>
std::vector<std::string> groups_if(Predicate wanted) {
  std::vector<std::string> found;
  for (const CgroupMount& mount : mounts()) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(mount.folder, error)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(group_prefix)) continue;
      pid_t owner = 0;
      const char* digits = name.data() + group_prefix.size();
      (void)std::from_chars(digits, name.data() + name.size(), owner);
      if (owner > 0 && wanted(owner)) found.push_back(entry.path());
    }
  }
  return found;
}

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
/// jail; without one the kernel's default applies, half of all pages.
std::string tmpfs_in_force(uint64_t bytes, bool memory_is_limited) {
  if (bytes == 0) return "none";
  return fmt::format("tmpfs, {} bytes, files {}", bytes,
                     memory_is_limited ? "charged to the memory limit" : "not limited");
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

std::vector<CgroupMount> parse_cgroup_mounts(const std::string& mountinfo,
                                             const std::string& own_groups) {
  std::vector<CgroupMount> found;
  std::stringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    // id parent dev root point options [tags…] - type source super-options
    std::stringstream fields(line);
    std::string skip, root, point, type, source, options;
    fields >> skip >> skip >> skip >> root >> point;
    while (fields >> skip && skip != "-") continue;
    fields >> type >> source >> options;
    if (type == "cgroup2") {
      found.push_back({true, true, true, folder_of(point, root, own_group(own_groups, "")), point});
    }
    if (type != "cgroup") continue;
    const bool memory = has_word(options, "memory", ',');
    const bool pids = has_word(options, "pids", ',');
    if (!memory && !pids) continue;
    const std::string group = own_group(own_groups, memory ? "memory" : "pids");
    found.push_back({false, memory, pids, folder_of(point, root, group), point});
  }
  return found;
}

/// A child that was just forked has one thread, and in version 1 a single thread can join. Moving a
/// whole process would take 10 ms, in which the kernel synchronises all threads of the machine.
std::string JailCgroup::join_file(const Group& group) {
  return group.folder + (group.v2 ? "/cgroup.procs" : "/tasks");
}

void JailCgroup::add(const CgroupMount& mount, const JailLimits& limits) {
  const bool want_memory = mount.memory && !limits_memory();
  const bool want_pids = mount.pids && !limits_processes();
  if (!want_memory && !want_pids) return;
  Group group{mount.folder + "/" + fresh_name(), mount.v2, false, {}};
  if (::mkdir(group.folder.c_str(), 0700) != 0) return;
  const std::string version = mount.v2 ? "cgroup v2, " : "cgroup v1, ";
  const std::string bytes = std::to_string(limits.memory_bytes);
  const std::string tasks = std::to_string(limits.processes);
  const char* memory_file = mount.v2 ? "/memory.max" : "/memory.limit_in_bytes";
  if (want_memory && write_text(group.folder + memory_file, bytes)) {
    const char* swap_file = mount.v2 ? "/memory.swap.max" : "/memory.memsw.limit_in_bytes";
    (void)write_text(group.folder + swap_file, mount.v2 ? "0" : bytes);
    group.memory = true;
    report_["memory"] = version + bytes + " bytes";
  }
  const bool pids_set = want_pids && write_text(group.folder + "/pids.max", tasks);
  if (pids_set) report_["processes"] = version + tasks + " tasks";
  group.join = UniqueFd{::open(join_file(group).c_str(), O_WRONLY | O_CLOEXEC)};
  if (group.join && (group.memory || pids_set)) {
    groups_.push_back(std::move(group));
    return;
  }
  if (group.memory) report_.erase("memory");
  if (pids_set) report_.erase("processes");
  (void)::rmdir(group.folder.c_str());
}

JailCgroup JailCgroup::make(const JailLimits& limits) {
  JailCgroup made;
  for (const CgroupMount& mount : mounts()) made.add(mount, limits);
  return made;
}

std::vector<int> JailCgroup::join_descriptors() const {
  std::vector<int> fds;
  fds.reserve(groups_.size());
  for (const Group& group : groups_) fds.push_back(group.join.get());
  return fds;
}

bool JailCgroup::out_of_memory() const {
  for (const Group& group : groups_) {
    if (!group.memory) continue;
    std::stringstream text(
        text_or_none(group.folder + (group.v2 ? "/memory.events" : "/memory.oom_control")));
    std::string name;
    for (uint64_t value = 0; text >> name >> value;) {
      if (name == "oom_kill" && value > 0) return true;
    }
  }
  return false;
}

void JailCgroup::remove() {
  for (const Group& group : groups_) remove_group(group.folder);
  groups_.clear();
}

JailCgroup& JailCgroup::operator=(JailCgroup&& other) noexcept {
  if (this == &other) return *this;
  remove();
  groups_ = std::move(other.groups_);
  report_ = std::move(other.report_);
  return *this;
}

Result<void> all_in_force(const std::map<std::string, std::string>& report) {
  std::string missing;
  for (const char* limit : {"memory", "processes"}) {
    if (report.contains(limit)) continue;
    missing += (missing.empty() ? "" : " and ") + std::string{limit};
  }
  if (missing.empty()) return {};
  return fail(ErrorCode::unsupported,
              "sandbox.require_cgroups is set, and no cgroup here limits " + missing +
                  ": give this process a writable cgroup (v2: delegated, with the memory and pids "
                  "controllers), or unset the key and accept resource limits");
}

Result<void> probe_cgroups() {
  return all_in_force(JailCgroup::make({}).report());
}

std::vector<std::string> stale_cgroups() {
  return groups_if([](pid_t owner) { return ::kill(owner, 0) != 0 && errno == ESRCH; });
}

void sweep_stale_cgroups() {
  for (const std::string& folder : stale_cgroups()) remove_group(folder);
}

void remove_cgroups_of(pid_t owner) {
  const auto made = groups_if([owner](pid_t each) { return each == owner; });
  for (const std::string& folder : made) remove_group(folder);
}

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
                         ? fmt::format("rlimit, {} bytes of addresses", limits.memory_bytes)
                         : "not limited: a GPU's driver, and no cgroup";
  report["processes"] = alone ? "seccomp, one task" : tasks_in_force();
  for (const auto& [primitive, in_force] : cgroup.report()) {
    if (primitive != "processes" || !alone) report[primitive] = in_force;
  }
  report["cpu_time"] = fmt::format("rlimit, {} s", limits.cpu.count());
  report["file_size"] = fmt::format("rlimit, {} bytes", limits.file_bytes);
  report["core_dumps"] = "none";
  report["root"] = "read-only, listed paths";
  if (!spec.devices.empty()) report["devices"] = list_of(spec.devices);
  report["proc"] = "own";
  report["tmp"] = tmpfs_in_force(limits.tmp_bytes, cgroup.limits_memory());
  report["shm"] = tmpfs_in_force(alone ? 0 : shm_bytes, cgroup.limits_memory());
  const bool pinned = spec.cores.size() == 1;
  report["core"] = pinned ? fmt::format("pinned to {}", spec.cores.front()) : "any";
  return report;
}

}  // namespace warpsmith::sandbox
