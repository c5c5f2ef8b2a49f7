// SPDX-License-Identifier: Apache-2.0
#include "actors/run/memory_budget.hpp"

#include <cstdio>
#include <string>

#include "actors/generator/generator_settings.hpp"
#include "actors/learner/learner_settings.hpp"
#include "policy/generate/cuda/memory_plan.hpp"
#include "runtime/cuda/driver.hpp"

namespace warpsmith::actors {
namespace {

// Contexts, modules, and what an allocator rounds up: of this process, and of each slot's and
// each composer's worker.
constexpr int64_t process_bytes = int64_t{1} << 30;
constexpr int64_t slot_bytes = int64_t{1} << 30;

std::string gib(int64_t bytes) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.1f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

int64_t generator_bytes(const RunConfig& config, const policy::ModelConfig& model) {
  constexpr int64_t wide = 4;  // bytes of a float32
  const GeneratorSettings settings = generator_settings(config, model, {});
  if (settings.gpu) {
    return policy::cuda::plan_memory(model, settings.engine, settings.gpu->precision).total();
  }
  const int64_t row = 2 * model.layers * model.kv_size();
  return wide * (model.parameter_count() + row * config.generator.cache_tokens);
}

/// Engines on the learner's GPU.
int64_t engines_beside(const RunConfig& c) {
  const bool same = c.generator.device == ComputeDevice::cuda && c.generator.gpu == c.learner.gpu;
  return same ? c.generator.count : 0;
}

/// How many of `count` slots or composers are on the learner's GPU, at most.
int64_t beside(int64_t count, const SandboxConfig& c, int64_t gpu) {
  const bool same = uses_gpus(c) && gpu >= c.first_gpu && gpu < c.first_gpu + c.gpus;
  return same ? (count + c.gpus - 1) / c.gpus : 0;
}

int64_t workers_beside(const RunConfig& c) {
  return beside(c.sandbox.count, c.sandbox, c.learner.gpu) +
         beside(c.synthesis.count, c.sandbox, c.learner.gpu);
}

/// What can be set so that a learner needs less.
std::string remedies(const LearnerConfig& c) {
  std::string text = "lower agent.max_tokens, learner.max_held or generator.cache_tokens";
  if (!c.offloads(Offload::layer_inputs)) text += ", add \"layer_inputs\" to learner.offload";
  if (c.critic.kind == CriticKind::separate) text += ", set learner.critic.kind = \"shared\"";
  return text + ", or give the generator a GPU of its own (generator.gpu)";
}

}  // namespace

MemoryBudget memory_budget(const RunConfig& config, const policy::ModelConfig& model) {
  return {learner_memory(config, model), generator_bytes(config, model)};
}

Result<void> check_learner_gpu(const RunConfig& config, const MemoryBudget& budget, int64_t total) {
  const policy::LearnerMemory& learner = budget.learner;
  const int64_t engines = engines_beside(config) * budget.generator;
  const int64_t slots = workers_beside(config) * slot_bytes;
  const int64_t needed = learner.total() + engines + slots + process_bytes;
  if (needed <= total) return {};
  const std::string parts =
      "learner.gpu: GPU " + std::to_string(config.learner.gpu) + " has " + gib(total) +
      ", and the run needs " + gib(needed) + " of it (learner: parameters with their state " +
      gib(learner.parameters) + ", published " + gib(learner.published + learner.reference) +
      ", kept prefixes " + gib(learner.kept) + ", activations " + gib(learner.activations) +
      "; generators " + gib(engines) + "; sandboxes and composers " + gib(slots) + "; driver " +
      gib(process_bytes) + "): ";
  const int64_t held = config.learner.max_held_bytes - (needed - total);
  const bool is_enough = learner.kept >= config.learner.max_held_bytes && held >= 1 << 20;
  return fail(ErrorCode::capacity,
              parts + (is_enough ? "lower learner.max_held to at most " + gib(held)
                                 : remedies(config.learner)));
}

Result<void> check_gpu_here(const RunConfig& config, const MemoryBudget& budget) {
  if (config.learner.device == ComputeDevice::cpu) return {};
  const auto driver = cuda::Driver::load();
  if (!driver) return tl::unexpected(driver.error());
  const auto gpus = driver->gpus();
  if (!gpus) return tl::unexpected(gpus.error());
  const auto at = static_cast<size_t>(config.learner.gpu);
  return check_learner_gpu(config, budget, gpus->at(at).memory_bytes);
}

}  // namespace warpsmith::actors
