// SPDX-License-Identifier: Apache-2.0
#include "actors/sandbox/slot_cores.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>

#include "runtime/log.hpp"

namespace warpsmith::actors {
namespace {

std::vector<int> cores_in_force() {
  cpu_set_t set;
  CPU_ZERO(&set);
  (void)::sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<unsigned>(core), &set)) cores.push_back(core);
  }
  return cores;
}

std::string text_of(const std::vector<int>& cores) {
  std::string text;
  for (const int core : cores) text += (text.empty() ? "" : ",") + std::to_string(core);
  return text;
}

/// The tensor library keeps its threads, so they move too. A thread that ends meanwhile can be
/// ignored.
bool move_threads(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<unsigned>(core), &set);
  if (cores.empty()) return false;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const pid_t thread = std::stoi(entry.path().filename().string());
    if (sched_setaffinity(thread, sizeof set, &set) != 0 && errno != ESRCH) return false;
  }
  return !error;
}

}  // namespace

const std::vector<int>& allowed_cores() {
  static const std::vector<int> cores = cores_in_force();
  return cores;
}

Result<int> core_of_slot(const SandboxConfig& config, uint32_t index,
                         const std::vector<int>& allowed) {
  const auto places = static_cast<size_t>(config.cores);  // per slot
  if (config.first_core < 0) {
    const size_t from_end = (index + 1) * places;
    if (from_end <= allowed.size()) return allowed[allowed.size() - from_end];
    return fail(
        ErrorCode::invalid_config,
        fmt::format(
            "sandbox.count = {}: each slot needs its own core, and this process has {} ({})",
            config.count, allowed.size(), text_of(allowed)));
  }
  const int core = static_cast<int>(config.first_core) + static_cast<int>(index * places);
  if (std::ranges::binary_search(allowed, core)) return core;
  return fail(
      ErrorCode::invalid_config,
      fmt::format("sandbox.first_core = {}: slot {} would have core {}, and this process has {}",
                  config.first_core, index, core, text_of(allowed)));
}

Result<void> check_slot_cores(const SandboxConfig& config, SlotsOf origin) {
  const std::vector<int>& allowed = allowed_cores();
  if (origin == SlotsOf::command && static_cast<size_t>(config.count) > allowed.size()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("--slots {}: expected at most {}, since each slot needs its own core "
                            "and this process has {} ({})",
                            config.count, allowed.size(), allowed.size(), text_of(allowed)));
  }
  for (uint32_t slot = 0; slot < config.count; ++slot) {
    TRY_VOID(core_of_slot(config, slot, allowed));
  }
  return {};
}

int core_of(const SandboxConfig& config, uint32_t index) {
  return core_of_slot(config, index, allowed_cores()).value();
}

std::vector<int> cores_outside_slots(const SandboxConfig& config) {
  const std::vector<int>& allowed = allowed_cores();
  std::vector<int> cores = allowed;
  for (uint32_t slot = 0; slot < config.count; ++slot) {
    if (const auto core = core_of_slot(config, slot, allowed)) std::erase(cores, *core);
  }
  return cores;
}

std::vector<int> compile_cores_of(const SandboxConfig& config, uint32_t index) {
  std::vector<int> cores = cores_outside_slots(config);
  cores.push_back(core_of(config, index));
  return cores;
}

void leave_slot_cores(const SandboxConfig& config) {
  if (move_threads(cores_outside_slots(config))) return;
  log::warn("the sandbox shares its cores with this process: times will be noisy");
}

void use_allowed_cores() {
  if (!move_threads(allowed_cores())) log::warn("this process stays on a part of its cores");
}

int threads_within_cores(const LearnerConfig& config) {
  const int64_t cores = std::ssize(cores_in_force());
  const int64_t most = std::max<int64_t>(1, cores / config.gpus);  // of each rank
  if (config.threads <= most) return static_cast<int>(config.threads);
  log::warn(
      fmt::format("learner.threads = {}: expected at most {} ({} cores, {} ranks); using that many",
                  config.threads, most, cores, config.gpus));
  return static_cast<int>(most);
}

}  // namespace warpsmith::actors
