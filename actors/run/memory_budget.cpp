// SPDX-License-Identifier: Apache-2.0
#include "actors/run/memory_budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "actors/generator/generator.hpp"
#include "actors/learner/learner.hpp"
#include "policy/generate/cuda/memory_plan.hpp"
#include "policy/learn/placement.hpp"
#include "policy/learn/stages/sft.hpp"
#include "policy/learn/stages/value.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/text.hpp"

namespace warpsmith::actors {
namespace {

/// Overhead of one process on a GPU: contexts, modules and the allocator's rounding.
constexpr int64_t process_bytes = int64_t{1} << 30;
constexpr int64_t slot_bytes = process_bytes;  // of each slot's and each composer's worker

/// The bytes of each GPU of this machine.
Result<std::vector<int64_t>> gpu_sizes() {
  TRY(const auto driver, cuda::Driver::load());
  TRY(const auto gpus, driver.gpus());
  std::vector<int64_t> sizes;
  for (const cuda::Gpu& gpu : gpus) sizes.push_back(gpu.memory_bytes);
  return sizes;
}

/// Sets the memory of an engine.
void add_generator(MemoryBudget& budget, const RunConfig& config,
                   const policy::ModelConfig& model) {
  constexpr int64_t wide = 4;  // bytes of a float32
  const GeneratorSettings settings = generator_settings(config, model, {});
  if (settings.gpu) {
    const auto plan = policy::cuda::plan_memory(model, settings.engine, settings.gpu->precision);
    budget.generator = plan.total();
    budget.cache_token = plan.cache_token;
    return;
  }
  budget.cache_token = wide * 2 * model.layers * model.kv_size();
  budget.generator =
      wide * model.parameter_count() + budget.cache_token * config.generator.cache_tokens;
}

/// Bytes of one GPU.
struct GpuNeed {
  int64_t learner = 0;  // of the rank there
  int64_t kept = 0;     // of that, prefixes, at most
  int64_t engines = 0;
  int64_t workers = 0;  // of sandboxes and composers

  int64_t total() const { return learner + engines + workers + process_bytes; }
};

/// Only the first rank keeps prefixes; the others have earlier weights only for a second minibatch.
int64_t rank_bytes(const LearnerConfig& c, const policy::LearnerMemory& plan, int64_t rank) {
  if (rank == 0) return plan.total();
  return plan.total() - plan.kept - (c.step.minibatches > 1 ? 0 : plan.published);
}

/// The largest number of `count` slots or composers on that GPU.
int64_t workers_on(int64_t count, const SandboxConfig& c, int64_t gpu) {
  const bool same = uses_gpus(c) && gpu >= c.first_gpu && gpu < c.first_gpu + c.gpus;
  return same ? (count + c.gpus - 1) / c.gpus : 0;
}

bool generates_on_gpu(const RunConfig& c) {
  return !has_brain(c.brain) && c.generator.device == ComputeDevice::cuda;
}

/// The GPUs of learner and generator, by number.
std::map<int64_t, GpuNeed> gpu_needs(const RunConfig& c, const MemoryBudget& budget) {
  std::map<int64_t, GpuNeed> needs;
  const bool learns = budget.learns && c.learner.device == ComputeDevice::cuda;
  for (int64_t rank = 0; learns && rank < c.learner.gpus; ++rank) {
    GpuNeed& need = needs[c.learner.gpu + rank];
    need.learner = rank_bytes(c.learner, budget.learner, rank);
    need.kept = rank == 0 ? budget.learner.kept : 0;
  }
  if (generates_on_gpu(c)) {
    needs[c.generator.gpu].engines = c.generator.count * budget.generator;
  }
  for (auto& [gpu, need] : needs) {
    const int64_t workers =
        workers_on(c.sandbox.count, c.sandbox, gpu) + workers_on(c.synthesis.count, c.sandbox, gpu);
    need.workers = workers * slot_bytes;
  }
  return needs;
}

/// The key that places the first role there.
const char* key_of(const GpuNeed& need) {
  return need.learner > 0 ? "learner.gpu" : "generator.gpu";
}

std::string learner_parts(const policy::LearnerMemory& plan, const GpuNeed& need) {
  const int64_t published = need.learner - plan.parameters - need.kept - plan.activations;
  return fmt::format(
      "learner: parameters with their state {}, published {}, kept prefixes {}, activations {}; ",
      size_text(plan.parameters), size_text(published), size_text(need.kept),
      size_text(plan.activations));
}

/// Settings that reduce a learner's memory if lower token limits are not enough.
std::string parameter_remedies(const LearnerConfig& c) {
  const bool apart = c.critic.kind == CriticKind::separate;
  const bool whole = c.lora.rank == 0;
  std::string text = "the parameters alone do not fit: ";
  if (apart) text += "set learner.critic.kind = \"shared\", or ";
  if (whole) text += "train adapters (learner.lora.rank), or ";
  if (whole && c.loss.kl > 0) text += "set learner.loss.kl = 0, or ";
  if (apart || whole) {
    text += "spread the optimiser's moments over more GPUs (learner.gpus with learner.forwards = ";
    text += "\"at_use\"), or ";
  }
  return text + "use a smaller model (model.folder) or a larger GPU";
}

/// Settings that reduce a learner's memory.
std::string learner_remedies(const RunConfig& c, const GpuNeed& need) {
  std::string text = "lower agent.max_tokens";
  if (need.kept > 0) text += ", learner.max_held";
  if (need.engines > 0) text += ", generator.cache_tokens";
  if (!c.learner.offloads(Offload::layer_inputs)) {
    text += ", add \"layer_inputs\" to learner.offload";
  }
  if (c.learner.critic.kind == CriticKind::separate) {
    text += ", set learner.critic.kind = \"shared\"";
  }
  if (need.engines > 0) text += ", or give the generator a separate GPU (generator.gpu)";
  return text;
}

/// Settings that save the `excess` bytes on a GPU without a learner.
std::string generator_remedies(const RunConfig& c, const MemoryBudget& budget, int64_t excess) {
  const int64_t each = c.generator.count * budget.cache_token;
  const int64_t tokens = c.generator.cache_tokens - (excess + each - 1) / each;
  if (tokens >= c.agent.max_tokens) {
    return fmt::format("lower generator.cache_tokens to at most {}", tokens);
  }
  return "lower agent.max_tokens with generator.cache_tokens, generator.max_batch or "
         "generator.count, or use another GPU";
}

std::string remedy(const RunConfig& c, const MemoryBudget& budget, const GpuNeed& need,
                   int64_t size) {
  const int64_t excess = need.total() - size;
  if (need.learner == 0) return generator_remedies(c, budget, excess);
  const int64_t fixed = need.learner - need.kept - budget.learner.activations;
  if (fixed + process_bytes > size) return parameter_remedies(c.learner);
  const int64_t held = c.learner.max_held_bytes - excess;
  const bool is_enough = need.kept >= c.learner.max_held_bytes && held >= 1 << 20;
  if (is_enough) return "lower learner.max_held to at most " + size_text(held);
  return learner_remedies(c, need);
}

/// Tokens of the longest pass: whole batches may be smaller than a pack, a conversation larger.
int64_t longest_pack(const RunConfig& c) {
  if (c.run.stage == Stage::value) {
    const int64_t pack = std::min(policy::ValueStage::pack_tokens, c.value.batch_tokens);
    return std::max(pack, c.agent.max_tokens);
  }
  const int64_t pack =
      std::min(policy::SftStage::pack_tokens(c.learner.device), c.sft.batch_tokens);
  return std::max(pack, c.sft.context);
}

bool has_critic_apart(const RunConfig& c) {
  return c.run.stage == Stage::value && c.learner.critic.kind == CriticKind::separate;
}

std::string data_remedies(const RunConfig& c, int64_t parameters, int64_t size) {
  if (parameters + process_bytes <= size) return data_stage_remedies(c);
  return std::string("the parameters alone do not fit: ") +
         (has_critic_apart(c) ? "set learner.critic.kind = \"shared\", or " : "") +
         "use a smaller model or another GPU";
}

}  // namespace

MemoryBudget memory_budget(const RunConfig& config, const policy::ModelConfig& model, bool learns) {
  MemoryBudget budget{.learner = learner_memory(config, model), .learns = learns};
  add_generator(budget, config, model);
  return budget;
}

Result<void> check_gpus(const RunConfig& config, const MemoryBudget& budget,
                        const std::vector<int64_t>& sizes) {
  for (const auto& [gpu, need] : gpu_needs(config, budget)) {
    if (gpu >= std::ssize(sizes)) {
      return fail(ErrorCode::unsupported,
                  fmt::format("{}: expected less than {}, the number of GPUs here, got {}",
                              key_of(need), sizes.size(), gpu));
    }
    const int64_t size = sizes[static_cast<size_t>(gpu)];
    if (need.total() <= size) continue;
    return fail(ErrorCode::capacity,
                fmt::format("{}: GPU {} has {}, and the run needs {} of it ({}generators {}; "
                            "sandboxes and composers {}; driver {}): {}",
                            key_of(need), gpu, size_text(size), size_text(need.total()),
                            need.learner > 0 ? learner_parts(budget.learner, need) : "",
                            size_text(need.engines), size_text(need.workers),
                            size_text(process_bytes), remedy(config, budget, need, size)));
  }
  return {};
}

Result<void> check_gpus_here(const RunConfig& config, const MemoryBudget& budget) {
  if (gpu_needs(config, budget).empty()) return {};
  const char* const key = generates_on_gpu(config) ? "generator.device" : "learner.device";
  const auto sizes = gpu_sizes();
  if (sizes) return check_gpus(config, budget, *sizes);
  return fail(std::string(key) + ": expected \"cpu\" where no GPU is usable, got \"cuda\"",
              sizes.error());
}

std::string data_stage_remedies(const RunConfig& c) {
  const bool value = c.run.stage == Stage::value;
  std::string text = value ? "lower agent.max_tokens" : "lower sft.context and sft.batch_tokens";
  if (c.learner.device == ComputeDevice::cuda && !c.learner.offloads(Offload::layer_inputs)) {
    text += ", or add \"layer_inputs\" to learner.offload";
  }
  return text + (has_critic_apart(c) ? ", or set learner.critic.kind = \"shared\"" : "");
}

policy::DataStageMemory data_stage_memory(const RunConfig& config,
                                          const policy::ModelConfig& model) {
  const int64_t pack = longest_pack(config);
  return config.run.stage == Stage::value
             ? policy::plan_critic_fitting(model, config.learner, pack)
             : policy::plan_policy_fitting(model, config.learner, pack);
}

Result<void> check_data_gpu(const RunConfig& config, const policy::DataStageMemory& plan,
                            const std::vector<int64_t>& sizes) {
  if (config.learner.device == ComputeDevice::cpu) return {};
  const int64_t size = sizes.at(static_cast<size_t>(config.learner.gpu));
  const int64_t needed = plan.total() + process_bytes;
  if (needed <= size) return {};
  return fail(
      ErrorCode::capacity,
      fmt::format("learner.gpu: GPU {} has {}, and the stage needs {} of it (parameters with "
                  "gradients and moments {}, activations of {} tokens {}; driver {}): {}",
                  config.learner.gpu, size_text(size), size_text(needed),
                  size_text(plan.parameters), longest_pack(config), size_text(plan.activations),
                  size_text(process_bytes), data_remedies(config, plan.parameters, size)));
}

Result<void> check_data_gpu_here(const RunConfig& config, const policy::DataStageMemory& plan) {
  TRY_VOID(policy::check_placement(config.learner));
  if (config.learner.device == ComputeDevice::cpu) return {};
  TRY(const auto sizes, gpu_sizes());
  return check_data_gpu(config, plan, sizes);
}

}  // namespace warpsmith::actors
