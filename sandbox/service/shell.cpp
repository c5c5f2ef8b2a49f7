// SPDX-License-Identifier: Apache-2.0
#include "sandbox/service/shell.hpp"

#include <filesystem>

#include "sandbox/jail/presets.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

bool gone(const std::error_code& error) {
  return error == std::errc::no_such_file_or_directory;
}

/// Adds up a workspace, one open folder at a time: a deep tree takes no descriptors.
class Growth {
 public:
  /// True if the folder holds more than a workspace may. What cannot be read counts as too much,
  /// or a command could hide what it writes; what went away meanwhile counts as nothing.
  bool beyond_limits(const std::string& folder) {
    waiting_ = {folder};
    while (!waiting_.empty()) {
      const fs::path next = std::move(waiting_.back());
      waiting_.pop_back();
      if (!add(next)) return true;
    }
    return false;
  }

 private:
  /// False on what cannot be read, or is too much.
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
  spec.core = -1;
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
    if (!Growth().beyond_limits(request.workspace)) continue;
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
