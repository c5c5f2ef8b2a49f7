// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "commands/doctor/doctor_checks.hpp"
#include "runtime/environment.hpp"
#include "sandbox/timing/machine.hpp"

namespace warpsmith::commands {
namespace {

const char* const hardware_area = "machine";

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
    const std::string cache = folder / ("index" + std::to_string(index));
    const std::string level = first_line(cache + "/level");
    const std::string type = first_line(cache + "/type");
    if (level.empty() || type == "Instruction") continue;
    findings.push_back(
        {hardware_area, "cache_l" + level + "_bytes", bytes_of(first_line(cache + "/size"))});
  }
}

void check_memory(Findings& findings) {
  constexpr int64_t quickstart_needs = int64_t{6} << 30;
  const int64_t total = bytes_of(value_in("/proc/meminfo", "MemTotal"));
  findings.push_back({hardware_area, "memory_bytes", total});
  const int64_t available = bytes_of(value_in("/proc/meminfo", "MemAvailable"));
  const bool enough = available >= quickstart_needs;
  findings.push_back({hardware_area, "memory_available_bytes", available,
                      enough ? FindingState::good : FindingState::absent,
                      enough ? "" : "the quickstart needs up to 6 GiB; close other programs"});
}

/// The limits of one core, measured once per machine and kept in the cache folder.
void check_bandwidth(Findings& findings) {
  const sandbox::Machine machine = sandbox::known_machine(cache_folder());
  findings.push_back({hardware_area, "cache_gbytes_per_s", machine.limits.cache_gbytes_per_s});
  findings.push_back({hardware_area, "memory_gbytes_per_s", machine.limits.memory_gbytes_per_s});
  findings.push_back({hardware_area, "gflops_per_s", machine.limits.gflops_per_s});
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
  findings.push_back({hardware_area, "disk_free_bytes", free,
                      enough ? FindingState::good : FindingState::absent,
                      enough ? "" : "a fresh Python environment takes 6 GB in " + folder.string()});
}

}  // namespace

void check_machine(Findings& findings) {
  findings.push_back({hardware_area, "kernel", first_line("/proc/sys/kernel/osrelease")});
  findings.push_back({hardware_area, "processor", value_in("/proc/cpuinfo", "model name")});
  const int64_t cores = usable_cores();
  const bool enough = cores >= 2;
  findings.push_back({hardware_area, "cores", cores,
                      enough ? FindingState::good : FindingState::absent,
                      enough ? "" : "timing needs a core of its own beside the learner's"});
  check_memory(findings);
  check_caches(findings);
  check_bandwidth(findings);
  check_disk(findings);
}

}  // namespace warpsmith::commands
