// SPDX-License-Identifier: Apache-2.0
#include "actors/sandbox/service_backend.hpp"

#include <optional>

#include "actors/sandbox/slot_cores.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/environment.hpp"
#include "sandbox/jail/cgroup.hpp"

namespace warpsmith::actors {
namespace {

constexpr std::chrono::seconds start_budget{60};

class ServiceBackend : public SandboxBackend {
 public:
  explicit ServiceBackend(sandbox::Client client) : client_(std::move(client)) {}

  Judgement evaluate(const Task& task, const Submission& submission, Request request,
                     std::chrono::milliseconds budget) override {
    return client_.evaluate({task, submission, request}, Deadline::after(budget));
  }
  Result<TaskFacts> ingest(const Task& task, std::chrono::milliseconds budget) override {
    return client_.ingest(task, Deadline::after(budget));
  }
  bool lost() const override { return client_.lost(); }
  void on_progress(const std::function<void(const std::string&)>& tell) override {
    client_.on_progress(tell);
  }

 private:
  sandbox::Client client_;
};

class ShellServices : public sandbox::ToolServices {
 public:
  ShellServices(sandbox::SandboxOptions options, std::shared_ptr<sandbox::EndSwitch> ender)
      : options_(std::move(options)), ender_(std::move(ender)) {}

  Result<sandbox::ShellResult> shell(const sandbox::ShellRequest& request) override {
    if (auto there = have_client(); !there) return tl::unexpected(std::move(there.error()));
    return client_->shell(request,
                          Deadline::after(std::chrono::milliseconds{request.timeout_ms} + slack));
  }

  Result<sandbox::JobReport> job(const sandbox::JobRequest& request) override {
    const bool starts = request.action == sandbox::JobAction::start;
    if (!starts && (!client_ || client_->lost())) return sandbox::JobReport{};
    if (auto there = have_client(); !there) return tl::unexpected(std::move(there.error()));
    return client_->job(request, Deadline::after(2 * slack));
  }

 private:
  static constexpr std::chrono::seconds slack{10};

  Result<void> have_client() {
    if (client_ && !client_->lost()) return {};
    auto started = sandbox::Client::start(options_, Deadline::after(start_budget), ender_);
    if (!started) return tl::unexpected(std::move(started.error()));
    client_.emplace(std::move(*started));
    return {};
  }

  sandbox::SandboxOptions options_;
  std::shared_ptr<sandbox::EndSwitch> ender_;
  std::optional<sandbox::Client> client_;
};

}  // namespace

sandbox::SandboxOptions service_options(const SandboxConfig& config, const std::string& python) {
  sandbox::SandboxOptions options;
  options.program = sandbox_program().string();
  options.python = python;
  options.cache_dir = (config.cache.empty() ? cache_folder() : config.cache).string();
  options.compile_cache_bytes = static_cast<uint64_t>(config.cache_bytes);
  const SandboxLimits& limits = config.limits;
  options.candidate_memory_bytes = static_cast<uint64_t>(limits.memory_bytes);
  options.source_bytes = static_cast<uint64_t>(limits.source_bytes);
  options.message_bytes = static_cast<uint64_t>(limits.output_bytes);
  options.compile_tasks = static_cast<uint32_t>(limits.processes);
  options.compile_ms = static_cast<uint32_t>(limits.compile.count());
  options.call_ms = static_cast<uint32_t>(limits.call.count());
  options.ingest_ms = static_cast<uint32_t>(limits.ingest.count());
  options.verified_sets = static_cast<int32_t>(config.sets);
  options.timed_blocks = static_cast<int32_t>(config.blocks);
  options.numerics = config.numerics == "paper" ? Numerics::paper : Numerics::strict;
  options.require_cgroups = config.require_cgroups;
  return options;
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

sandbox::SandboxOptions beside_slots_options(const SandboxConfig& config,
                                             const std::string& python) {
  auto options = service_options(config, python);
  options.cores = cores_beside_slots(config);
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
  const auto gpus = driver->gpus();
  if (!gpus) return tl::unexpected(gpus.error());
  if (const std::string nodes = cuda::lacking_nodes(); !nodes.empty()) {
    return fail(ErrorCode::unsupported,
                contract + ": " + nodes + "; in a container, give it these and /dev/nvidiaN");
  }
  const auto wanted = static_cast<size_t>(config.first_gpu + config.gpus);
  if (gpus->size() >= wanted) return {};
  if (origin == SlotsOf::command && config.gpus == 1) {
    return fail(ErrorCode::invalid_argument, "--gpu " + std::to_string(config.first_gpu) +
                                                 ": this machine has " +
                                                 std::to_string(gpus->size()) + ", counted from 0");
  }
  return fail(ErrorCode::invalid_config, "sandbox.gpus = " + std::to_string(config.gpus) +
                                             " from GPU " + std::to_string(config.first_gpu) +
                                             " on, and this machine has " +
                                             std::to_string(gpus->size()));
}

Result<void> check_slots(const SandboxConfig& config, SlotsOf origin) {
  if (auto gpus = check_slot_gpus(config, origin); !gpus) return gpus;
  if (auto cores = check_slot_cores(config, origin); !cores) return cores;
  return config.require_cgroups ? sandbox::probe_cgroups() : Result<void>{};
}

SandboxBackendFactory service_backend(sandbox::SandboxOptions options,
                                      std::shared_ptr<sandbox::EndSwitch> ender) {
  return [options = std::move(options),
          ender = std::move(ender)]() -> Result<std::unique_ptr<SandboxBackend>> {
    auto client = sandbox::Client::start(options, Deadline::after(start_budget), ender);
    if (!client) return tl::unexpected(std::move(client.error()));
    return std::make_unique<ServiceBackend>(std::move(*client));
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
