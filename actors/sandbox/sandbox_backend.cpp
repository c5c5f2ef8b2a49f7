// SPDX-License-Identifier: Apache-2.0
#include "actors/sandbox/sandbox_backend.hpp"

#include <fmt/format.h>

#include <optional>

#include "actors/sandbox/slot_cores.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/environment.hpp"
#include "sandbox/jail/jail_limits.hpp"

namespace warpsmith::actors {
namespace {

constexpr std::chrono::seconds start_budget{60};

class ShellServices : public sandbox::ToolServices {
 public:
  ShellServices(sandbox::SandboxOptions options, std::shared_ptr<sandbox::EndSwitch> ender)
      : options_(std::move(options)), ender_(std::move(ender)) {}

  Result<sandbox::ShellResult> shell(const sandbox::ShellRequest& request) override {
    TRY_VOID(have_client());
    return client_->shell(request,
                          Deadline::after(std::chrono::milliseconds{request.timeout_ms} + slack));
  }

  Result<sandbox::JobReport> job(const sandbox::JobRequest& request) override {
    const bool starts = request.action == sandbox::JobAction::start;
    if (!starts && (!client_ || client_->lost())) return sandbox::JobReport{};
    TRY_VOID(have_client());
    return client_->job(request, Deadline::after(2 * slack));
  }

 private:
  static constexpr std::chrono::seconds slack{10};

  Result<void> have_client() {
    if (client_ && !client_->lost()) return {};
    TRY(auto started, sandbox::Client::start(options_, Deadline::after(start_budget), ender_));
    client_.emplace(std::move(started));
    return {};
  }

  sandbox::SandboxOptions options_;
  std::shared_ptr<sandbox::EndSwitch> ender_;
  std::optional<sandbox::Client> client_;
};

}  // namespace

sandbox::SandboxOptions service_options(const SandboxConfig& config, const std::string& python) {
  return {.program = sandbox_program().string(),
          .python = python,
          .cache_dir = (config.cache.empty() ? cache_folder() : config.cache).string(),
          .settings = config.settings};
}

sandbox::SandboxOptions slot_options(const SandboxConfig& config, const std::string& python,
                                     uint32_t index) {
  auto options = service_options(config, python);
  options.core = core_of(config, index);
  options.cores = compile_cores_of(config, index);
  if (uses_gpus(config)) options.gpu = static_cast<int>(config.first_gpu + index % config.gpus);
  options.baselines = further_baselines(config);
  return options;
}

sandbox::SandboxOptions options_outside_slots(const SandboxConfig& config,
                                              const std::string& python) {
  auto options = service_options(config, python);
  options.cores = cores_outside_slots(config);
  return options;
}

/// Only reads from the driver, so the GPUs stay as they are for other processes.
Result<void> check_slot_gpus(const SandboxConfig& config, SlotsOf origin) {
  if (!uses_gpus(config)) return {};
  const std::string contract = origin == SlotsOf::command
                                   ? "contract " + config.contract
                                   : "sandbox.contract = \"" + config.contract + '"';
  const auto driver = cuda::Driver::load();
  if (!driver) return fail(contract, driver.error());
  TRY(const auto gpus, driver->gpus());
  if (const std::string nodes = cuda::missing_device_nodes(); !nodes.empty()) {
    return fail(ErrorCode::unsupported,
                contract + ": " + nodes + "; in a container, give it these and /dev/nvidiaN");
  }
  const auto wanted = static_cast<size_t>(config.first_gpu + config.gpus);
  if (gpus.size() >= wanted) return {};
  if (origin == SlotsOf::command && config.gpus == 1) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("--gpu {}: this machine has {}, counted from 0", config.first_gpu,
                            gpus.size()));
  }
  return fail(ErrorCode::invalid_config,
              fmt::format("sandbox.gpus = {} from GPU {} on, and this machine has {}", config.gpus,
                          config.first_gpu, gpus.size()));
}

Result<void> check_slots(const SandboxConfig& config, SlotsOf origin) {
  TRY_VOID(check_slot_gpus(config, origin));
  TRY_VOID(check_slot_cores(config, origin));
  return config.settings.require_cgroups ? sandbox::probe_cgroups() : Result<void>{};
}

SandboxBackendFactory service_backend(sandbox::SandboxOptions options,
                                      std::shared_ptr<sandbox::EndSwitch> ender) {
  return [options = std::move(options),
          ender = std::move(ender)]() -> Result<std::unique_ptr<sandbox::Backend>> {
    TRY(auto client, sandbox::Client::start(options, Deadline::after(start_budget), ender));
    return std::make_unique<sandbox::Client>(std::move(client));
  };
}

std::function<Result<std::unique_ptr<sandbox::ToolServices>>()> shell_services(
    sandbox::SandboxOptions options, std::shared_ptr<sandbox::EndSwitch> ender) {
  return [options = std::move(options),
          ender = std::move(ender)]() -> Result<std::unique_ptr<sandbox::ToolServices>> {
    return std::make_unique<ShellServices>(options, ender);
  };
}

}  // namespace warpsmith::actors
