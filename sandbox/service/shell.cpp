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

// Both lines are one line each, so that the shell's messages count the command's own lines. The
// state is only ever sourced inside the jail.
constexpr const char* restore_state =
    "command_=$1; shift; "
    "[ -f /workspace/.shell_state ] && . /workspace/.shell_state; cd -- \"$PWD\" || cd "
    "/workspace; ";

/// At the shell's end. A call that is killed does not come here and leaves the state as it was.
constexpr const char* keep_state =
    "trap '{ status_=$?; set +eux; } 2>/dev/null; "
    "state_=$(export -p; declare -f); "
    "if [ ${#state_} -gt 65536 ]; then echo \"bash: the state of the shell was not kept: "
    "exported variables and functions: expected at most 65536 characters, got ${#state_}; "
    "unset the large ones\" >&2; "
    "else printf \"%s\\n\" \"$state_\" >/workspace/.shell_state.new && "
    "/bin/mv /workspace/.shell_state.new /workspace/.shell_state; fi; exit $status_' EXIT; ";

/// A job runs beside later calls, so it gets the state and leaves it alone.
std::string script_of(ShellState state) {
  std::string script = restore_state;
  if (state == ShellState::kept) script += keep_state;
  return script + "eval \"$command_\"";
}

JailSpec jail_of(const ShellRequest& request, bool cgroup_required, ShellState state) {
  JailSpec spec = shell_jail(request.workspace);
  spec.argv = {"/bin/bash", "-c", script_of(state), "/bin/bash", request.command};
  spec.limits.output_bytes = request.output_bytes;
  spec.limits.memory_bytes = request.memory_bytes;
  spec.limits.cgroup_required = cgroup_required;
  return spec;
}

}  // namespace

Result<std::unique_ptr<JailedProcess>> start_command(const ShellRequest& request,
                                                     bool cgroup_required, ShellState state) {
  std::error_code error;
  if (!fs::path(request.workspace).is_absolute() || !fs::is_directory(request.workspace, error)) {
    return fail(ErrorCode::invalid_argument,
                "shell: the workspace " + request.workspace + " is not an absolute folder");
  }
  if (!fs::exists("/bin/bash", error)) {
    return fail(ErrorCode::unsupported,
                "shell: expected /bin/bash on this machine, found none; install bash");
  }
  return JailedProcess::start(jail_of(request, cgroup_required, state));
}

ShellResult result_of(JailExit exit) {
  return {exit.exit_code,  exit.signal,         exit.timed_out,     exit.out_of_memory,
          exit.output_cut, std::move(exit.out), std::move(exit.err)};
}

Result<ShellResult> run_shell(const ShellRequest& request, Deadline deadline, bool cgroup_required,
                              const std::function<void()>& meanwhile) {
  auto jail = start_command(request, cgroup_required, ShellState::kept);
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
