// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "commands/doctor/doctor_checks.hpp"
#include "runtime/environment.hpp"
#include "runtime/process/child.hpp"
#include "sandbox/jail/jail.hpp"
#include "sandbox/jail/jail_remedy.hpp"
#include "sandbox/service/client.hpp"

namespace warpsmith::commands {
namespace {

const char* const jail_area = "jail";
constexpr std::chrono::seconds jail_patience{10};

void check_bubblewrap(Findings& findings) {
  const std::string program = find_program("bwrap");
  if (program.empty()) {
    findings.push_back({jail_area, "bubblewrap", std::string{"not found"}, FindingState::missing,
                        "apt-get install bubblewrap"});
    return;
  }
  const auto version = run_child({.argv = {program, "--version"}}, Deadline::after(jail_patience));
  findings.push_back(
      {jail_area, "bubblewrap",
       version ? version->out.substr(0, version->out.find('\n')) : version.error().message});
}

/// Starts the sandbox program as a run does, and reads which primitives a candidate's jail has.
Result<sandbox::HealthReport> probe_sandbox() {
  sandbox::SandboxOptions options;
  options.program = sandbox_program();
  options.cache_dir = cache_folder();
  auto client = sandbox::Client::start(options, Deadline::after(jail_patience));
  if (!client) return tl::unexpected(client.error());
  auto report = client->health(Deadline::after(jail_patience));
  client->shutdown(Deadline::after(jail_patience));
  return report;
}

void check_in_force(Findings& findings) {
  const auto report = probe_sandbox();
  if (!report) {
    const std::string& why = report.error().message;
    findings.push_back({jail_area, "starts", "no: " + why, FindingState::missing,
                        sandbox::jail_remedy(why, sandbox::this_container())});
    return;
  }
  findings.push_back({jail_area, "starts", true});
  for (const auto& [primitive, in_force] : report->jail) {
    findings.push_back({jail_area, primitive, in_force});
  }
  const bool full = sandbox::is_full_jail(report->jail);
  const bool capped =
      report->jail.contains("memory") && report->jail.at("memory").rfind("cgroup", 0) == 0;
  findings.push_back({jail_area, "full_trust", full,
                      full ? FindingState::good : FindingState::absent,
                      full ? "" : "verdicts are recorded with a lowered trust class"});
  findings.push_back({jail_area, "memory_by_cgroup", capped,
                      capped ? FindingState::good : FindingState::absent,
                      capped ? ""
                             : "memory is limited by rlimit only; run as root or delegate a cgroup "
                               "(systemd-run --user --scope -p Delegate=yes)"});
}

}  // namespace

void check_jail(Findings& findings) {
  check_bubblewrap(findings);
  check_in_force(findings);
}

}  // namespace warpsmith::commands
