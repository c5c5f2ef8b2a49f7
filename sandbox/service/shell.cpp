// SPDX-License-Identifier: Apache-2.0
#include "sandbox/service/shell.hpp"

#include <filesystem>

#include "sandbox/jail/presets.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// True if the folder holds more than a workspace may.
bool has_outgrown(const std::string& folder) {
  uint64_t bytes = 0;
  uint64_t entries = 0;
  std::error_code error;
  fs::recursive_directory_iterator all(folder, fs::directory_options::skip_permission_denied,
                                       error);
  for (; !error && all != fs::recursive_directory_iterator(); all.increment(error)) {
    std::error_code skipped;
    if (all->is_regular_file(skipped) && !all->is_symlink(skipped)) {
      bytes += all->file_size(skipped);
    }
    if (++entries > max_workspace_entries || bytes > max_workspace_bytes) return true;
  }
  return false;
}

JailSpec jail_of(const ShellRequest& request) {
  JailSpec spec = shell_jail(request.workspace);
  const bool has_bash = fs::exists("/bin/bash");
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
  if (!fs::path(request.workspace).is_absolute() || !fs::is_directory(request.workspace)) {
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
    if (!has_outgrown(request.workspace)) continue;
    ShellResult result = result_of((*jail)->kill());
    result.err += "\nthe workspace grew beyond its limit; the command was killed\n";
    return result;
  }
  auto exit = (*jail)->wait(end);
  if (!exit) return tl::unexpected(std::move(exit.error()));
  if (exit->never_began) return fail(ErrorCode::unsupported, "shell: " + exit->err);
  return result_of(std::move(*exit));
}

}  // namespace warpsmith::sandbox
