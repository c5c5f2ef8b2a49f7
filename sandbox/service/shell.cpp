// SPDX-License-Identifier: Apache-2.0
#include "sandbox/service/shell.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <set>

#include "sandbox/jail/presets.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

bool gone(const std::error_code& error) {
  return error == std::errc::no_such_file_or_directory;
}

/// The status of a path; nothing if it does not exist.
std::optional<struct stat> status_of(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

/// Files that a jail's processes hold open although they are unlinked.
class NamelessFiles {
 public:
  /// Their size on one device.
  uint64_t bytes(pid_t jailed, dev_t device) {
    const auto jail = status_of(process(jailed) / "ns/pid");
    if (!jail) return 0;
    std::error_code error;
    for (fs::directory_iterator one("/proc", error); !error && one != fs::directory_iterator();
         one.increment(error)) {
      const auto own = status_of(one->path() / "ns/pid");
      if (own && own->st_ino == jail->st_ino) add_files_of(one->path(), device);
    }
    return bytes_;
  }

 private:
  static fs::path process(pid_t pid) { return fs::path("/proc") / std::to_string(pid); }

  void add_files_of(const fs::path& process, dev_t device) {
    std::error_code error;
    for (fs::directory_iterator fd(process / "fd", error); !error && fd != fs::directory_iterator();
         fd.increment(error)) {
      const auto file = status_of(fd->path());
      if (!file || !S_ISREG(file->st_mode) || file->st_nlink > 0 || file->st_dev != device)
        continue;
      if (seen_.insert(file->st_ino).second) bytes_ += static_cast<uint64_t>(file->st_size);
    }
  }

  std::set<ino_t> seen_;
  uint64_t bytes_ = 0;
};

/// Measures a workspace with one folder open at a time, so a deep tree needs no more descriptors.
class Growth {
 public:
  /// True if the folder, with the files that the jail's processes hold open there unlinked, exceeds
  /// the limits. A folder that cannot be read exceeds them too, or a command could hide its files.
  /// An entry that vanishes meanwhile counts as nothing.
  bool beyond_limits(const std::string& folder, pid_t jailed) {
    if (const auto there = status_of(folder)) bytes_ = NamelessFiles().bytes(jailed, there->st_dev);
    waiting_ = {folder};
    while (!waiting_.empty()) {
      const fs::path next = std::move(waiting_.back());
      waiting_.pop_back();
      if (!add(next)) return true;
    }
    return bytes_ > max_workspace_bytes;
  }

 private:
  /// False if a limit is exceeded or the folder cannot be read.
  bool add(const fs::path& folder) {
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      std::error_code unseen;
      const fs::file_type type = entries->symlink_status(unseen).type();
      if (type == fs::file_type::directory) waiting_.push_back(entries->path());
      if (type == fs::file_type::regular) {
        const uint64_t size = entries->file_size(unseen);
        if (!unseen) bytes_ += size;
      }
      if (unseen && !gone(unseen)) return false;
      if (++entries_ > max_workspace_entries || bytes_ > max_workspace_bytes) return false;
    }
    return !error || gone(error);
  }

  std::vector<fs::path> waiting_;
  uint64_t bytes_ = 0;
  uint64_t entries_ = 0;
};

JailSpec jail_of(const ShellRequest& request) {
  JailSpec spec = shell_jail(request.workspace);
  std::error_code error;
  const bool has_bash = fs::exists("/bin/bash", error);
  spec.argv = {has_bash ? "/bin/bash" : "/bin/sh", "-c", request.command};
  spec.limits.output_bytes = request.output_bytes;
  spec.limits.memory_bytes = request.memory_bytes;
  return spec;
}

ShellResult result_of(JailExit exit) {
  return {exit.exit_code,  exit.signal,         exit.timed_out,     exit.out_of_memory,
          exit.output_cut, std::move(exit.out), std::move(exit.err)};
}

}  // namespace

Result<ShellResult> run_shell(const ShellRequest& request, Deadline deadline,
                              bool cgroup_required) {
  std::error_code error;
  if (!fs::path(request.workspace).is_absolute() || !fs::is_directory(request.workspace, error)) {
    return fail(ErrorCode::invalid_argument,
                "shell: the workspace " + request.workspace + " is not an absolute folder");
  }
  JailSpec spec = jail_of(request);
  spec.limits.cgroup_required = cgroup_required;
  auto jail = JailedProcess::start(spec);
  if (!jail) return tl::unexpected(std::move(jail.error()));
  const Deadline own = Deadline::after(milliseconds{request.timeout_ms});
  const Deadline end = own.at() < deadline.at() ? own : deadline;
  while (!(*jail)->finished(std::min(milliseconds{100}, end.left())) && !end.passed()) {
    if (!Growth().beyond_limits(request.workspace, (*jail)->pid())) continue;
    ShellResult result = result_of((*jail)->kill());
    result.err +=
        "\nthe workspace grew beyond its limit, or cannot be read; the command was killed\n";
    return result;
  }
  auto exit = (*jail)->wait(end);
  if (!exit) return tl::unexpected(std::move(exit.error()));
  if (exit->never_began) return fail(ErrorCode::unsupported, "shell: " + exit->err);
  return result_of(std::move(*exit));
}

}  // namespace warpsmith::sandbox
