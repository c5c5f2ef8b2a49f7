// SPDX-License-Identifier: Apache-2.0
#include "actors/sandbox/sandbox_settings.hpp"

#include "actors/sandbox/service_backend.hpp"
#include "actors/sandbox/slot_cores.hpp"

namespace warpsmith::actors {
namespace {

constexpr std::chrono::minutes worker_start{2};  // an ingest's budget begins after it

}  // namespace

SandboxSettings sandbox_settings(const SandboxConfig& config) {
  SandboxSettings settings;
  settings.max_queue = static_cast<size_t>(config.queue);
  settings.evaluate_budget = config.limits.evaluation;
  settings.ingest_budget = config.limits.ingest + worker_start;
  return settings;
}

SandboxBackends slot_backends(const SandboxConfig& config, const std::string& python,
                              uint32_t index, const std::shared_ptr<sandbox::EndSwitch>& ender) {
  SandboxBackends backends{service_backend(slot_options(config, python, index), ender), {}};
  if (!cores_beside_slots(config).empty()) {
    backends.compiler = service_backend(beside_slots_options(config, python), ender);
  }
  return backends;
}

}  // namespace warpsmith::actors
