// SPDX-License-Identifier: Apache-2.0
// The checks of `warpsmith doctor` on the machine, the jail, and the build.
#include <fmt/format.h>
#include <sched.h>
#include <spdlog/version.h>
#include <torch/headeronly/version.h>

#include <boost/version.hpp>
#include <caf/config.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "commands/doctor/doctor.hpp"
#include "runtime/cuda/canary.hpp"
#include "runtime/environment.hpp"
#include "runtime/process/child.hpp"
#include "sandbox/jail/bubblewrap.hpp"
#include "sandbox/jail/jail.hpp"
#include "sandbox/service/client.hpp"
#include "sandbox/timing/machine.hpp"

namespace warpsmith::commands {
namespace {

const char* const machine_area = "machine";

std::string first_line(const std::string& file) {
  std::ifstream in{file};
  std::string line;
  std::getline(in, line);
  return line;
}

/// The value of `key` in a file of "key : value" lines, e.g. /proc/cpuinfo.
std::string value_in(const std::string& file, const std::string& key) {
  std::ifstream in{file};
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || line.rfind(key, 0) != 0) continue;
    const size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return {};
}

int64_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return std::thread::hardware_concurrency();
}

/// The bytes of "16384 kB" or "512K", as /proc and sysfs write sizes.
int64_t bytes_of(const std::string& text) {
  std::istringstream in{text};
  int64_t amount = 0;
  std::string unit;
  in >> amount >> unit;
  if (unit == "kB" || unit == "K") return amount << 10;
  return unit == "M" ? amount << 20 : amount;
}

void check_caches(Findings& findings) {
  const std::filesystem::path folder = "/sys/devices/system/cpu/cpu0/cache";
  for (int index = 0; index < 8; ++index) {
    const std::string cache = folder / fmt::format("index{}", index);
    const std::string level = first_line(cache + "/level");
    const std::string type = first_line(cache + "/type");
    if (level.empty() || type == "Instruction") continue;
    findings.push_back(
        {machine_area, "cache_l" + level + "_bytes", bytes_of(first_line(cache + "/size"))});
  }
}

void check_memory(Findings& findings) {
  constexpr int64_t quickstart_needs = int64_t{6} << 30;
  const int64_t total = bytes_of(value_in("/proc/meminfo", "MemTotal"));
  findings.push_back({machine_area, "memory_bytes", total});
  const int64_t available = bytes_of(value_in("/proc/meminfo", "MemAvailable"));
  const bool enough = available >= quickstart_needs;
  findings.push_back({machine_area, "memory_available_bytes", available,
                      enough ? FindingState::good : FindingState::absent,
                      enough ? "" : "the quickstart needs up to 6 GiB; close other programs"});
}

/// The limits of one core, measured once per machine and kept in the cache folder.
void check_bandwidth(Findings& findings) {
  const sandbox::Machine machine = sandbox::known_machine(cache_folder());
  findings.push_back({machine_area, "cache_gbytes_per_s", machine.limits.cache_gbytes_per_s});
  findings.push_back({machine_area, "memory_gbytes_per_s", machine.limits.memory_gbytes_per_s});
  findings.push_back({machine_area, "gflops_per_s", machine.limits.gflops_per_s});
}

void check_disk(Findings& findings) {
  std::error_code error;
  auto folder = cache_folder();
  while (!std::filesystem::exists(folder, error) && folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  const auto space = std::filesystem::space(folder, error);
  if (error) return;
  constexpr int64_t environment_needs = int64_t{8} << 30;
  const auto free = static_cast<int64_t>(space.available);
  const bool enough = free >= environment_needs;
  findings.push_back({machine_area, "disk_free_bytes", free,
                      enough ? FindingState::good : FindingState::absent,
                      enough ? "" : "a fresh Python environment takes 6 GB in " + folder.string()});
}

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
  TRY(auto client, sandbox::Client::start(options, Deadline::after(jail_patience)));
  auto report = client.health(Deadline::after(jail_patience));
  client.shutdown(Deadline::after(jail_patience));
  return report;
}

/// Which of the jail's primitives are in force.
void check_primitives(Findings& findings) {
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

const char* const build_area = "build";
constexpr std::chrono::seconds tool_patience{20};

std::string first_line_in(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// The version line of a program's --version output: nvcc's is not the first.
std::string version_line(const std::string& text) {
  const size_t release = text.find("release ");
  if (release == std::string::npos) return first_line_in(text);
  const size_t before = text.rfind('\n', release);
  return first_line_in(text.substr(before == std::string::npos ? 0 : before + 1));
}

std::string dotted(int major, int minor, int patch) {
  return fmt::format("{}.{}.{}", major, minor, patch);
}

void check_python(Findings& findings) {
  const std::string python = python_interpreter();
  const std::string advice = "./warpsmith build makes the pinned environment";
  if (python.empty()) {
    findings.push_back(
        {build_area, "python", std::string{"not set"}, FindingState::missing, advice});
    return;
  }
  const auto run = run_child({.argv = {python, "-c",
                                       "import sys, importlib.metadata as m\n"
                                       "print(sys.version.split()[0], 'torch', m.version('torch'), "
                                       "'transformers', m.version('transformers'))"}},
                             Deadline::after(tool_patience));
  const bool works = run && run->exit_code == 0;
  findings.push_back({build_area, "python",
                      works ? first_line_in(run->out)
                            : python + ": " + (run ? first_line_in(run->err) : run.error().message),
                      works ? FindingState::good : FindingState::missing, works ? "" : advice});
}

}  // namespace

void check_machine(Findings& findings) {
  findings.push_back({machine_area, "kernel", first_line("/proc/sys/kernel/osrelease")});
  findings.push_back({machine_area, "processor", value_in("/proc/cpuinfo", "model name")});
  const int64_t cores = usable_cores();
  const bool enough = cores >= 2;
  findings.push_back({machine_area, "cores", cores,
                      enough ? FindingState::good : FindingState::absent,
                      enough ? "" : "timing needs its own core, separate from the learner's"});
  check_memory(findings);
  check_caches(findings);
  check_bandwidth(findings);
  check_disk(findings);
}

void check_jail(Findings& findings) {
  check_bubblewrap(findings);
  check_primitives(findings);
}

void check_tool(Findings& findings, const std::string& area, const std::string& program,
                FindingState if_absent, const std::string& advice) {
  const std::string path = find_program(program);
  if (path.empty()) {
    findings.push_back({area, program, std::string{"not found"}, if_absent, advice});
    return;
  }
  const auto run = run_child({.argv = {path, "--version"}}, Deadline::after(tool_patience));
  findings.push_back({area, program, run ? version_line(run->out) : run.error().message});
}

void check_build(Findings& findings) {
  findings.push_back({build_area, "warpsmith", program_version()});
  check_tool(findings, build_area, "g++", FindingState::missing, "apt-get install g++");
  check_tool(findings, build_area, "cmake", FindingState::absent, "apt-get install cmake");
  check_tool(findings, build_area, "ninja", FindingState::absent, "apt-get install ninja-build");
  check_tool(findings, build_area, "ccache", FindingState::absent,
             "apt-get install ccache: faster rebuilds");
  check_tool(findings, build_area, "mold", FindingState::absent,
             "apt-get install mold: faster links");
  check_python(findings);
  findings.push_back(
      {build_area, "caf", dotted(CAF_VERSION / 10000, CAF_VERSION / 100 % 100, CAF_VERSION % 100)});
  findings.push_back({build_area, "libtorch", std::string{TORCH_VERSION}});
  findings.push_back(
      {build_area, "spdlog", dotted(SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH)});
  findings.push_back(
      {build_area, "boost",
       dotted(BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100)});
  findings.push_back(
      {build_area, "cuda_parts", cuda::canary_is_built(),
       cuda::canary_is_built() ? FindingState::good : FindingState::absent,
       cuda::canary_is_built() ? "" : "install the CUDA toolkit (nvcc) and build again"});
}

}  // namespace warpsmith::commands
