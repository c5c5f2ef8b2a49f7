// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/sandbox_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace warpsmith {
namespace {

enum class Slots { cores, gpus };

struct Contract {
  std::string_view name;
  Slots slots;
};

// CMake sets WARPSMITH_CONTRACTS to WARPSMITH_CONTRACT(NAME, SLOTS) for each contract.
#define WARPSMITH_CONTRACT(name, slots) {#name, Slots::slots},
constexpr auto contracts = std::to_array<Contract>({WARPSMITH_CONTRACTS});
#undef WARPSMITH_CONTRACT

const Contract* find_contract(std::string_view name) {
  const auto* const found = std::ranges::find(contracts, name, &Contract::name);
  return found == contracts.end() ? nullptr : found;
}

constexpr std::array<std::string_view, 3> baseline_names{"auto", "max-autotune", "cuda-graph"};

/// `"cpu", "device" or "host"`.
std::string known_contracts() {
  std::string text;
  for (size_t i = 0; i < contracts.size(); ++i) {
    if (i > 0) text += i + 1 < contracts.size() ? ", " : " or ";
    text.append("\"").append(contracts[i].name).append("\"");
  }
  return text;
}

bool is_auto(const SandboxConfig& c) {
  return std::ranges::find(c.baselines, baseline_names[0]) != c.baselines.end();
}

void validate_baselines(const SandboxConfig& c, Complaints& complaints) {
  for (const std::string& name : c.baselines) {
    complaints.require(
        std::ranges::find(baseline_names, name) != baseline_names.end(), "sandbox.baselines",
        "expected \"auto\", \"max-autotune\" or \"cuda-graph\", got \"" + name + '"');
  }
  complaints.require(!is_auto(c) || c.baselines.size() == 1, "sandbox.baselines",
                     "expected only \"auto\", or names of baselines without \"auto\"");
  complaints.require(uses_gpus(c) || c.baselines.empty() || is_auto(c), "sandbox.baselines",
                     "expected [] or [\"auto\"]: a slot on a CPU core times only eager and "
                     "torch.compile");
}

void describe_limits(Fields& fields, SandboxSettings& c) {
  using std::chrono::milliseconds;
  fields.bytes("memory", c.candidate_memory_bytes, {.low = 64 << 20});
  fields.integer("processes", c.compile_tasks, {.low = 8, .high = 4096});
  fields.bytes("source", c.source_bytes, {.low = 1 << 10, .high = 64 << 20});
  fields.bytes("output", c.message_bytes, {.low = 256, .high = 64 << 20});
  fields.duration("compile", c.compile_timeout, {.low = milliseconds{100}});
  fields.duration("call", c.call_timeout, {.low = milliseconds{10}});
  fields.duration("evaluation", c.evaluation_timeout, {.low = std::chrono::seconds{1}});
  fields.duration("ingest", c.ingest_timeout, {.low = std::chrono::seconds{1}});
}

}  // namespace

bool uses_gpus(const SandboxConfig& c) {
  const Contract* found = find_contract(c.contract);
  return found != nullptr && found->slots == Slots::gpus;
}

std::chrono::milliseconds verdict_timeout(const SandboxConfig& c) {
  return c.settings.evaluation_timeout * (c.queue + 1);
}

std::vector<std::string> further_baselines(const SandboxConfig& c) {
  if (!is_auto(c)) return c.baselines;
  if (!uses_gpus(c)) return {};
  return {baseline_names.begin() + 1, baseline_names.end()};
}

void describe(Fields& fields, SandboxConfig& c) {
  fields.integer("count", c.count, {.low = 1, .high = 4096});
  fields.integer("cores", c.cores, {.low = 1, .high = 1024});
  fields.integer("first_core", c.first_core, {.low = -1, .high = 4095});
  fields.integer("gpus", c.gpus, {.low = 1, .high = 64});
  fields.integer("first_gpu", c.first_gpu, {.low = 0, .high = 63});
  fields.text("contract", c.contract);
  fields.integer("queue", c.queue, {.low = 1, .high = 65'536});
  fields.choice_of("numerics", c.settings.numerics, enum_names<Numerics>);
  fields.integer("sets", c.settings.verified_sets, {.low = 5, .high = 64});
  fields.integer("blocks", c.settings.timed_blocks, {.low = 8, .high = 1024});
  fields.texts("baselines", c.baselines, baseline_names);
  fields.flag("require_cgroups", c.settings.require_cgroups);
  fields.path("cache", c.cache);
  fields.bytes("cache_size", c.settings.compile_cache_bytes, {.low = 1 << 20});
  fields.table("limits", [&c](Fields& limits) { describe_limits(limits, c.settings); });
}

void validate(const SandboxConfig& c, Complaints& complaints) {
  complaints.require(find_contract(c.contract) != nullptr, "sandbox.contract",
                     "expected " + known_contracts() + ", got \"" + c.contract + "\"");
  complaints.require(c.cores == 1, "sandbox.cores",
                     "expected 1: a slot is pinned to one core and times on that core");
  complaints.require(
      !uses_gpus(c) || c.count >= c.gpus, "sandbox.count",
      fmt::format("expected at least one slot for each of {} GPUs (sandbox.gpus), got {}", c.gpus,
                  c.count));
  validate_baselines(c, complaints);
  const SandboxSettings& limits = c.settings;
  complaints.require(limits.call_timeout < limits.evaluation_timeout, "sandbox.limits.call",
                     "expected less than sandbox.limits.evaluation");
  complaints.require(limits.compile_timeout < limits.evaluation_timeout, "sandbox.limits.compile",
                     "expected less than sandbox.limits.evaluation");
}

}  // namespace warpsmith
