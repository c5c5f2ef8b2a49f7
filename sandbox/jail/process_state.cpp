// SPDX-License-Identifier: Apache-2.0
#include "sandbox/jail/process_state.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "runtime/process/unique_fd.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;

bool is_stopped_letter(char letter) {
  return letter == 'T' || letter == 'Z' || letter == 'X';
}

std::optional<TaskState> read_stat(int fd) {
  std::array<char, 1024> text{};
  const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
  if (n <= 0) return std::nullopt;
  return parse_stat({text.data(), static_cast<size_t>(n)});
}

/// Reads the number that begins `ahead` fields further on; drops what precedes it.
template <class Number>
bool read_field(std::string_view& rest, int ahead, Number& number) {
  for (int field = 0; field < ahead; ++field) {
    const size_t space = rest.find(' ');
    if (space == std::string_view::npos) return false;
    rest.remove_prefix(space + 1);
  }
  return std::from_chars(rest.data(), rest.data() + rest.size(), number).ec == std::errc{};
}

std::string_view value_of(std::string_view text, std::string_view key) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ':') continue;
    line.remove_prefix(key.size() + 1);
    const size_t first = line.find_first_not_of(" \t");
    return first == std::string_view::npos ? std::string_view{} : line.substr(first);
  }
  return {};
}

/// Those of this machine's processes whose folder in /proc fulfils `holds`.
std::vector<pid_t> processes_that(const std::function<bool(const fs::path&)>& holds) {
  std::vector<pid_t> found;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error); !error && entry != fs::directory_iterator{};
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    pid_t number = 0;
    (void)std::from_chars(name.data(), name.data() + name.size(), number);
    if (number > 0 && holds(entry->path())) found.push_back(number);
  }
  return found;
}

}  // namespace

std::optional<TaskState> parse_stat(std::string_view text) {
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return std::nullopt;
  std::string_view rest = text.substr(name_end + 2);
  TaskState state;
  state.letter = rest.front();
  // The state is field 3 of the line.
  if (!read_field(rest, 4 - 3, state.parent)) return std::nullopt;
  if (!read_field(rest, 20 - 4, state.threads)) return std::nullopt;
  return state;
}

ConfinementState parse_status(std::string_view text) {
  ConfinementState state;
  state.no_new_privs = value_of(text, "NoNewPrivs").starts_with('1');
  state.no_capabilities = true;
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    const std::string_view value = value_of(text, set);
    const bool zero = !value.empty() && value.find_first_not_of('0') == std::string_view::npos;
    state.no_capabilities = state.no_capabilities && zero;
  }
  const std::string_view filters = value_of(text, "Seccomp_filters");
  (void)std::from_chars(filters.data(), filters.data() + filters.size(), state.seccomp_filters);
  return state;
}

bool is_stopped(pid_t pid, int stat_fd) {
  const auto leader = read_stat(stat_fd);
  if (!leader || !is_stopped_letter(leader->letter)) return !leader;
  if (leader->threads <= 1) return true;
  std::error_code error;
  const std::string tasks = fmt::format("/proc/{}/task", pid);
  // A range-based loop would throw if the process ended meanwhile.
  for (fs::directory_iterator task(tasks, error); !error && task != fs::directory_iterator{};
       task.increment(error)) {
    const int fd = ::open((task->path() / "stat").c_str(), O_RDONLY | O_CLOEXEC);
    const bool ended = fd < 0 && (errno == ENOENT || errno == ESRCH);
    if (ended) continue;
    if (fd < 0) return false;  // no free descriptor
    const auto state = read_stat(fd);
    (void)::close(fd);
    if (state && !is_stopped_letter(state->letter)) return false;
  }
  return !error;
}

std::vector<pid_t> processes_in_namespace_of(pid_t pid) {
  const auto namespace_of = [](const fs::path& process) {
    struct stat status{};
    return ::stat((process / "ns/pid").c_str(), &status) == 0 ? status.st_ino : 0;
  };
  const ino_t wanted = namespace_of(fs::path("/proc") / std::to_string(pid));
  if (wanted == 0 || wanted == namespace_of("/proc/self")) return {};
  return processes_that([&](const fs::path& process) { return namespace_of(process) == wanted; });
}

/// A process that is not stopped yet may start another, so the list is read until all are.
Result<void> stop_processes(pid_t in_namespace_of, Deadline deadline) {
  for (bool all = false; !all;) {
    if (deadline.passed()) return fail(ErrorCode::timeout, "jail: its processes do not stop");
    all = true;
    for (const pid_t pid : processes_in_namespace_of(in_namespace_of)) {
      const std::string stat = fmt::format("/proc/{}/stat", pid);
      const UniqueFd state{::open(stat.c_str(), O_RDONLY | O_CLOEXEC)};
      if (!state || is_stopped(pid, state.get())) continue;
      (void)::kill(pid, SIGSTOP);
      all = false;
    }
    if (!all) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return {};
}

void resume_processes(pid_t in_namespace_of) {
  for (const pid_t pid : processes_in_namespace_of(in_namespace_of)) (void)::kill(pid, SIGCONT);
}

std::vector<pid_t> children_of(pid_t pid) {
  return processes_that([pid](const fs::path& process) {
    const UniqueFd stat{::open((process / "stat").c_str(), O_RDONLY | O_CLOEXEC)};
    const auto state = stat ? read_stat(stat.get()) : std::nullopt;
    return state && state->parent == pid;
  });
}

Result<void> limit_addresses(pid_t pid, uint64_t more) {
  const std::string path = fmt::format("/proc/{}/statm", pid);
  std::ifstream file(path);
  uint64_t pages = 0;
  if (!(file >> pages)) return fail(ErrorCode::peer_lost, path + ": the process has ended");
  const uint64_t mapped = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  rlimit now{};
  if (::prlimit(pid, RLIMIT_AS, nullptr, &now) == 0) {
    const rlim_t most = std::min<rlim_t>(now.rlim_max, mapped + more);
    const rlimit wanted{most, most};
    if (::prlimit(pid, RLIMIT_AS, &wanted, nullptr) == 0) return {};
  }
  return fail(ErrorCode::unsupported, "jail: address limit: " + std::string(std::strerror(errno)));
}

std::vector<std::string> foreign_namespaces(pid_t pid) {
  std::vector<std::string> foreign;
  const std::string other = fmt::format("/proc/{}/ns/", pid);
  for (const std::string kind : {"user", "pid", "mnt", "net", "ipc", "uts", "cgroup"}) {
    std::error_code error;
    const fs::path theirs = fs::read_symlink(other + kind, error);
    if (error) continue;
    const fs::path ours = fs::read_symlink("/proc/self/ns/" + kind, error);
    if (!error && theirs != ours) foreign.push_back(kind);
  }
  return foreign;
}

}  // namespace warpsmith::sandbox
