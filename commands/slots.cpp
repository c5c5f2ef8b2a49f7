// SPDX-License-Identifier: Apache-2.0
#include "commands/slots.hpp"

#include "actors/sandbox/sandbox_backend.hpp"
#include "actors/sandbox/slot_cores.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/environment.hpp"
#include "sandbox/contract/contract.hpp"
#include "synthesis/task_source.hpp"

namespace warpsmith::commands {
using namespace actors;
namespace {

bool has_gpu() {
  const auto driver = cuda::Driver::load();
  const auto gpus = driver ? driver->gpus() : tl::unexpected(driver.error());
  return gpus && !gpus->empty();
}

}  // namespace

Result<void> valid_slots(const SandboxConfig& config) {
  Complaints complaints{"options"};
  validate(config, complaints);
  return complaints.result();
}

Result<std::vector<sandbox::SandboxOptions>> take_slots(const SandboxConfig& config) {
  TRY_VOID(valid_slots(config));
  TRY_VOID(check_slots(config, SlotsOf::command));
  leave_slot_cores(config);
  const std::string python = python_interpreter().string();
  std::vector<sandbox::SandboxOptions> slots;
  slots.reserve(static_cast<size_t>(config.count));
  for (uint32_t slot = 0; slot < config.count; ++slot) {
    slots.push_back(slot_options(config, python, slot));
  }
  return slots;
}

std::vector<SandboxBackendFactory> services_of(const std::vector<sandbox::SandboxOptions>& slots,
                                               const std::shared_ptr<sandbox::EndSwitch>& ender) {
  std::vector<SandboxBackendFactory> services;
  services.reserve(slots.size());
  for (const auto& slot : slots) services.push_back(service_backend(slot, ender));
  return services;
}

DeviceClass host_device(const Task& task) {
  const auto named = synthesis::named_device(task.code);
  if (named && *named) return **named;
  return has_gpu() ? DeviceClass::cuda : DeviceClass::cpu;
}

std::string slot_contract(const std::string& contract, DeviceClass device) {
  using sandbox::RunsOn;
  const RunsOn runs_on = sandbox::contract_named(contract).runs_on;
  const bool on_cpu =
      runs_on == RunsOn::cpu || (runs_on == RunsOn::task && device == DeviceClass::cpu);
  return on_cpu ? "cpu" : contract;
}

bool times_one_core(const std::string& contract) {
  const sandbox::ContractEntry* const entry = sandbox::find_contract(contract);
  return entry != nullptr && entry->runs_on == sandbox::RunsOn::cpu;
}

}  // namespace warpsmith::commands
