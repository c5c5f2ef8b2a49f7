// SPDX-License-Identifier: Apache-2.0
#include "sandbox/service/shell.hpp"

#include <filesystem>

#include "sandbox/jail/jail_remedy.hpp"
#include "sandbox/jail/presets.hpp"
#include "sandbox/service/workspace_growth.hpp"

namespace warpsmith::sandbox {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

JailSpec jail_of(const ShellRequest& request, bool cgroup_required) {
  JailSpec spec = shell_jail(request.workspace);
  std::error_code error;
  const bool has_bash = fs::exists("/bin/bash", error);
  spec.argv = {has_bash ? "/bin/bash" : "/bin/sh", "-c", request.command};
  spec.limits.output_bytes = request.output_bytes;
  spec.limits.memory_bytes = request.memory_bytes;
  spec.limits.cgroup_required = cgroup_required;
  return spec;
}

}  // namespace

Result<std::unique_ptr<JailedProcess>> start_command(const ShellRequest& request,
                                                     bool cgroup_required) {
  std::error_code error;
  if (!fs::path(request.workspace).is_absolute() || !fs::is_directory(request.workspace, error)) {
    return fail(ErrorCode::invalid_argument,
                "shell: the workspace " + request.workspace + " is not an absolute folder");
  }
  return JailedProcess::start(jail_of(request, cgroup_required));
}

ShellResult result_of(JailExit exit) {
  return {exit.exit_code,  exit.signal,         exit.timed_out,     exit.out_of_memory,
          exit.output_cut, std::move(exit.out), std::move(exit.err)};
}

Result<ShellResult> run_shell(const ShellRequest& request, Deadline deadline, bool cgroup_required,
                              const std::function<void()>& meanwhile) {
  auto jail = start_command(request, cgroup_required);
  if (!jail) return tl::unexpected(std::move(jail.error()));
  const Deadline own = Deadline::after(milliseconds{request.timeout_ms});
  const Deadline end = own.at() < deadline.at() ? own : deadline;
  while (!(*jail)->finished(std::min(milliseconds{100}, end.left())) && !end.passed()) {
    if (meanwhile) meanwhile();
    if (!is_beyond_limits(request.workspace, (*jail)->pid())) continue;
    ShellResult result = result_of((*jail)->kill());
    result.err += grown_text;
    return result;
  }
  auto exit = (*jail)->wait(end);
  if (!exit) return tl::unexpected(std::move(exit.error()));
  if (exit->never_began) return fail("shell", jail_not_made(exit->err));
  return result_of(std::move(*exit));
}

}  // namespace warpsmith::sandbox
