// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/sandbox_config.hpp"

namespace warpsmith {
namespace {

void describe_limits(Fields& fields, SandboxLimits& c) {
  using std::chrono::milliseconds;
  fields.bytes("memory", c.memory_bytes, {.low = 64 << 20});
  fields.integer("processes", c.processes, {.low = 8, .high = 4096});
  fields.bytes("source", c.source_bytes, {.low = 1 << 10, .high = 64 << 20});
  fields.bytes("output", c.output_bytes, {.low = 256, .high = 64 << 20});
  fields.duration("compile", c.compile, {.low = milliseconds{100}});
  fields.duration("call", c.call, {.low = milliseconds{10}});
  fields.duration("evaluation", c.evaluation, {.low = std::chrono::seconds{1}});
  fields.duration("ingest", c.ingest, {.low = std::chrono::seconds{1}});
}

}  // namespace

bool uses_gpus(const SandboxConfig& c) {
  return c.contract != "cpu";
}

void describe(Fields& fields, SandboxConfig& c) {
  fields.integer("count", c.count, {.low = 1, .high = 4096});
  fields.integer("cores", c.cores, {.low = 1, .high = 1024});
  fields.integer("first_core", c.first_core, {.low = -1, .high = 4095});
  fields.integer("gpus", c.gpus, {.low = 1, .high = 64});
  fields.integer("first_gpu", c.first_gpu, {.low = 0, .high = 63});
  fields.text("contract", c.contract);
  fields.integer("queue", c.queue, {.low = 1, .high = 65'536});
  fields.text("numerics", c.numerics);
  fields.integer("sets", c.sets, {.low = 5, .high = 64});
  fields.integer("blocks", c.blocks, {.low = 8, .high = 1024});
  fields.flag("require_cgroups", c.require_cgroups);
  fields.path("cache", c.cache);
  fields.bytes("cache_size", c.cache_bytes, {.low = 1 << 20});
  fields.table("limits", [&c](Fields& limits) { describe_limits(limits, c.limits); });
}

void validate(const SandboxConfig& c, Complaints& complaints) {
  complaints.require(c.contract == "cpu" || c.contract == "device" || c.contract == "host",
                     "sandbox.contract",
                     "expected \"cpu\", \"device\" or \"host\", got \"" + c.contract + "\"");
  complaints.require(c.numerics == "strict" || c.numerics == "paper", "sandbox.numerics",
                     "expected \"strict\" or \"paper\", got \"" + c.numerics + "\"");
  complaints.require(c.cores == 1, "sandbox.cores",
                     "expected 1: a slot is pinned to one core, and its timings are those of one");
  complaints.require(!uses_gpus(c) || c.count >= c.gpus, "sandbox.count",
                     "expected at least one slot for each of " + std::to_string(c.gpus) +
                         " GPUs (sandbox.gpus), got " + std::to_string(c.count));
  complaints.require(c.limits.call < c.limits.evaluation, "sandbox.limits.call",
                     "expected less than sandbox.limits.evaluation");
  complaints.require(c.limits.compile < c.limits.evaluation, "sandbox.limits.compile",
                     "expected less than sandbox.limits.evaluation");
}

}  // namespace warpsmith
