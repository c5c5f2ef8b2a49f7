// SPDX-License-Identifier: Apache-2.0
#include "commands/stack.hpp"

#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <caf/config.hpp>

#include "runtime/cuda/driver.hpp"
#include "runtime/environment.hpp"
#include "runtime/run/durable_file.hpp"

namespace warpsmith::commands {
namespace {

std::vector<GpuRecord> gpu_records(const cuda::Driver& driver) {
  std::vector<GpuRecord> records;
  const auto gpus = driver.gpus();
  if (!gpus) return records;
  for (const cuda::Gpu& gpu : *gpus) {
    records.push_back({gpu.name, static_cast<uint64_t>(gpu.memory_bytes),
                       cuda::version_text(driver.cuda_version()),
                       fmt::format("sm_{}", gpu.capability_major * 10 + gpu.capability_minor)});
  }
  return records;
}

}  // namespace

StackRecord full_stack() {
  StackRecord stack = host_stack();
  stack.warpsmith = program_version();
  stack.versions["torch"] = TORCH_VERSION;
  stack.versions["caf"] =
      fmt::format("{}.{}.{}", CAF_MAJOR_VERSION, CAF_MINOR_VERSION, CAF_PATCH_VERSION);
  if (const auto driver = cuda::Driver::load()) stack.gpus = gpu_records(*driver);
  constexpr size_t most_bytes = 1U << 16U;
  if (const auto text = read_text_file("/proc/driver/nvidia/version", most_bytes)) {
    stack.versions["driver"] = cuda::module_version(*text);
  }
  return stack;
}

}  // namespace warpsmith::commands
