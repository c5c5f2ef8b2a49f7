// SPDX-License-Identifier: Apache-2.0
#include "actors/service_backend.hpp"

#include <sched.h>

#include <optional>
#include <thread>

#include "runtime/environment.hpp"
#include "runtime/log.hpp"
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
  void on_progress(std::function<void(const std::string&)> tell) override {
    client_.on_progress(std::move(tell));
  }

 private:
  sandbox::Client client_;
};

class ShellServices : public sandbox::ToolServices {
 public:
  explicit ShellServices(sandbox::SandboxOptions options) : options_(std::move(options)) {}

  /// Never asked: a tool box hands submissions back, and a sandbox actor judges them.
  Judgement evaluate(const Submission& /*submission*/, Request /*request*/) override {
    return InfraFailure{InfraKind::sandbox_lost, "a tool executor does not judge"};
  }
  Result<sandbox::ShellResult> shell(const sandbox::ShellRequest& request) override {
    if (!client_ || client_->lost()) {
      auto started = sandbox::Client::start(options_, Deadline::after(start_budget));
      if (!started) return tl::unexpected(std::move(started.error()));
      client_.emplace(std::move(*started));
    }
    constexpr std::chrono::seconds slack{10};
    return client_->shell(request,
                          Deadline::after(std::chrono::milliseconds{request.timeout_ms} + slack));
  }

 private:
  sandbox::SandboxOptions options_;
  std::optional<sandbox::Client> client_;
};

// Asked once: the process may leave cores later, and the count would shrink with them.
int core_count() {
  static const int count = static_cast<int>(std::thread::hardware_concurrency());
  return count;
}

cpu_set_t cores_beside_slots(const SandboxConfig& config) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core = 0; core < core_count(); ++core) CPU_SET(core, &set);
  for (uint32_t slot = 0; slot < config.count; ++slot) {
    for (int i = 0; i < config.cores; ++i) CPU_CLR(first_core_of(config, slot) + i, &set);
  }
  return set;
}

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
  options.verified_sets = static_cast<int32_t>(config.sets);
  options.timed_blocks = static_cast<int32_t>(config.blocks);
  options.require_cgroups = config.require_cgroups;
  return options;
}

Result<void> check_cgroups(const SandboxConfig& config) {
  return config.require_cgroups ? sandbox::probe_cgroups() : Result<void>{};
}

int first_core_of(const SandboxConfig& config, uint32_t index) {
  const auto cores = static_cast<int>(config.cores);
  if (config.first_core >= 0)
    return static_cast<int>(config.first_core) + static_cast<int>(index) * cores;
  return core_count() - static_cast<int>(index + 1) * cores;
}

bool has_core_beside_slots(const SandboxConfig& config) {
  const cpu_set_t set = cores_beside_slots(config);
  return CPU_COUNT(&set) > 0;
}

void leave_slot_cores(const SandboxConfig& config) {
  const cpu_set_t set = cores_beside_slots(config);
  if (CPU_COUNT(&set) == 0 || sched_setaffinity(0, sizeof set, &set) != 0) {
    log::warn("the sandbox shares its cores with the rest: times will be noisy");
  }
}

SandboxBackendFactory service_backend(sandbox::SandboxOptions options) {
  return [options]() -> Result<std::unique_ptr<SandboxBackend>> {
    auto client = sandbox::Client::start(options, Deadline::after(start_budget));
    if (!client) return tl::unexpected(std::move(client.error()));
    return std::make_unique<ServiceBackend>(std::move(*client));
  };
}

std::function<Result<std::unique_ptr<sandbox::ToolServices>>()> shell_services(
    sandbox::SandboxOptions options) {
  return [options]() -> Result<std::unique_ptr<sandbox::ToolServices>> {
    return std::make_unique<ShellServices>(options);
  };
}

}  // namespace warpsmith::actors
