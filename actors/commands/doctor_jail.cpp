// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <filesystem>

#include "actors/commands/doctor_checks.hpp"
#include "runtime/process/child.hpp"
#include "sandbox/jail/jail.hpp"
#include "sandbox/jail/presets.hpp"

namespace warpsmith::actors {
namespace {

const char* const area = "jail";
constexpr std::chrono::seconds patience{10};

void check_bubblewrap(Findings& findings) {
  const std::string program = find_program("bwrap");
  if (program.empty()) {
    findings.push_back({area, "bubblewrap", std::string{"not found"}, FindingState::missing,
                        "apt-get install bubblewrap"});
    return;
  }
  const auto version = run_child({.argv = {program, "--version"}}, Deadline::after(patience));
  findings.push_back(
      {area, "bubblewrap",
       version ? version->out.substr(0, version->out.find('\n')) : version.error().message});
}

/// What a jail of the agent's shell has in force; the process in it is `true`.
void check_in_force(Findings& findings) {
  sandbox::JailSpec spec = sandbox::compile_jail();
  spec.argv = {"/usr/bin/true"};
  auto process = sandbox::JailedProcess::start(spec);
  if (!process) {
    findings.push_back(
        {area, "starts", process.error().message, FindingState::missing,
         "user namespaces must be allowed: sysctl kernel.unprivileged_userns_clone=1 "
         "and, on Ubuntu, kernel.apparmor_restrict_unprivileged_userns=0"});
    return;
  }
  const auto end = (*process)->wait(Deadline::after(patience));
  const bool ran = end && end->exit_code == 0;
  findings.push_back(
      {area, "starts", ran ? "yes" : "no: " + (end ? end->err : end.error().message),
       ran ? FindingState::good : FindingState::missing,
       ran ? "" : "run bwrap --unshare-all --ro-bind / / true and follow its words"});
  for (const auto& [primitive, in_force] : (*process)->report()) {
    findings.push_back({area, primitive, in_force});
  }
  const bool full = sandbox::is_full_jail((*process)->report());
  findings.push_back({area, "full_trust", full, full ? FindingState::good : FindingState::absent,
                      full ? ""
                           : "verdicts are recorded with a lowered trust class; run as root or "
                             "delegate a cgroup (systemd-run --user --scope -p Delegate=yes)"});
}

}  // namespace

void check_jail(Findings& findings) {
  check_bubblewrap(findings);
  check_in_force(findings);
}

}  // namespace warpsmith::actors
