// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/memory_plan.hpp"

#include <algorithm>

#include "policy/learn/lora.hpp"

namespace warpsmith::policy {
namespace {

constexpr int64_t wide = 4;             // bytes of a float32
constexpr int64_t head_rows = 2048;     // of logits at once; see token_log_probs
constexpr int64_t block_rows = 16'384;  // of a feed-forward block at once; see transformer.cpp

/// Bytes of a number in the copy that computes.
int64_t element_of(const LearnerConfig& config) {
  const bool gpu = config.device == ComputeDevice::cuda;
  return gpu && config.precision == ComputePrecision::bf16 ? 2 : wide;
}

int64_t networks_of(const LearnerConfig& config) {
  return config.critic.kind == CriticKind::separate ? 2 : 1;
}

/// The temporary tensors of one layer's backward pass: the projections, their rotated copies and
/// the gradients of both, and the widest part of the feed-forward block.
int64_t layer_work(const ModelConfig& m, int64_t tokens, int64_t element) {
  const int64_t attention = 5 * m.qkv_size() + 4 * m.hidden;
  const int64_t block = std::min(tokens, block_rows) * (8 * m.ffn + 6 * m.hidden);
  return element * (tokens * attention + block);
}

/// The temporary tensors of scoring: hidden rows and their gradients, logits, the head's gradient.
int64_t head_work(const ModelConfig& m, int64_t tokens, int64_t element) {
  const int64_t rows = std::min(tokens, head_rows);
  return 3 * tokens * m.hidden * element + rows * m.vocab * (3 * wide + element) +
         m.vocab * m.hidden * (wide + element);
}

/// The tensors that one layer keeps from the forward to the backward pass. `stashed`: its input and
/// the output of attention are in host memory.
int64_t layer_kept(const ModelConfig& m, int64_t tokens, int64_t element, bool stashed) {
  const bool fused = element < wide;
  const int64_t inputs = tokens * element * (m.hidden + (fused ? m.q_size() : 0));
  return (stashed ? 0 : inputs) + (fused ? tokens * m.heads * wide : 0);
}

int64_t stashed_bytes(const ModelConfig& m, int64_t tokens, int64_t element) {
  return m.layers * (layer_kept(m, tokens, element, false) - layer_kept(m, tokens, element, true));
}

/// The bytes of a pass, which begins with everything kept and ends with all gradients. The first
/// pass of an update begins without the layers' gradients, which saves `spared` bytes.
int64_t activation_bytes(const ModelConfig& m, int64_t tokens, int64_t element, bool stashed,
                         int64_t spared) {
  const int64_t all = m.layers * layer_kept(m, tokens, element, stashed);
  const int64_t two = stashed ? 2 * stashed_bytes(m, tokens, element) / m.layers : 0;
  const int64_t work = std::max(layer_work(m, tokens, element), head_work(m, tokens, element));
  return two + work + std::max(all - spared, all / m.layers);
}

/// The tensors that the graph of one layer keeps on a CPU, where nothing is recomputed: both norms,
/// the projections and their rotated copies, attention, both sums, gates, units and their product.
int64_t graph_bytes(const ModelConfig& m, int64_t tokens) {
  return m.layers * tokens * wide * (4 * m.hidden + 3 * m.qkv_size() + m.q_size() + 5 * m.ffn);
}

/// The bytes of a pass over `pack` tokens through layers that are trained. `head`: it scores
/// tokens.
int64_t fitting_bytes(const ModelConfig& m, const LearnerConfig& c, int64_t pack, bool head) {
  const int64_t element = element_of(c);
  const int64_t scoring = head ? head_work(m, pack, element) : 0;
  if (c.device == ComputeDevice::cpu) return graph_bytes(m, pack) + scoring;
  const bool stashed = c.offloads(Offload::layer_inputs);
  const int64_t two = stashed ? 2 * stashed_bytes(m, pack, element) / m.layers : 0;
  return two + m.layers * layer_kept(m, pack, element, stashed) +
         std::max(layer_work(m, pack, element), scoring);
}

int64_t offloaded_bytes(const ModelConfig& m, const LearnerConfig& c, int64_t pack) {
  const bool stashed = c.device == ComputeDevice::cuda && c.offloads(Offload::layer_inputs);
  return stashed ? stashed_bytes(m, pack, element_of(c)) : 0;
}

/// Keys and values of one trajectory, of policy and critic.
int64_t prefix_bytes(const ModelConfig& m, int64_t networks, int64_t tokens, int64_t element) {
  return networks * 2 * m.layers * m.kv_size() * tokens * element;
}

/// The layers' float32 gradients if an update has one pass; 0 if it has more.
int64_t spared_gradients(const ModelConfig& m, const StepConfig& step) {
  const bool one_pass = step.trajectories <= step.minibatches;
  return one_pass ? (m.parameter_count() - (m.tied_embeddings ? 1 : 2) * m.vocab * m.hidden) * wide
                  : 0;
}

/// In addition to its bound, a GPU with prefixes in host memory has two layers of each network's
/// prefix at a time, because both networks compute at once.
void plan_prefixes(LearnerMemory& plan, const ModelConfig& m, const LearnerConfig& config,
                   const TrajectoryBounds& bounds) {
  const int64_t element = element_of(config);
  const int64_t networks = networks_of(config);
  const int64_t doubled = 2 * bounds.longest;
  const int64_t capacity =
      bounds.longest <= m.max_positions ? std::min(doubled, m.max_positions) : doubled;
  const int64_t all = bounds.concurrent * prefix_bytes(m, networks, capacity, element);
  plan.kept = std::min(all, config.max_held_bytes);
  if (!config.offloads(Offload::kept_prefixes) || all <= config.max_held_bytes) return;
  plan.kept += 2 * prefix_bytes(m, networks, bounds.longest, element) / m.layers;
  plan.host += std::min(bounds.concurrent * prefix_bytes(m, networks, bounds.longest, element),
                        config.max_offloaded_bytes);
}

/// The bytes of `count` parameters that are trained: master weights, gradients, and this rank's
/// part of two moments.
int64_t trained_bytes(int64_t count, int64_t ranks) {
  return count * 2 * wide + 2 * wide * ((count + ranks - 1) / ranks);
}

/// The bytes of a policy whose adapters are trained: all weights, the frozen values of the targets,
/// the adapters, and the gradients of one layer's targets in both types.
int64_t adapted_bytes(const ModelConfig& m, const LearnerConfig& c, int64_t element) {
  const LoraSize size = size_of(c.lora, m);
  return (m.parameter_count() + size.targets) * element + trained_bytes(size.adapters, c.gpus) +
         size.targets / m.layers * (wide + element);
}

/// The bytes of all weights: float32 and the copy that computes.
int64_t weight_bytes(const ModelConfig& m, const LearnerConfig& c) {
  const int64_t element = element_of(c);
  return m.parameter_count() * (wide + (element < wide ? element : 0));
}

}  // namespace

DataStageMemory plan_policy_fitting(const ModelConfig& model, const LearnerConfig& config,
                                    int64_t pack) {
  return {.parameters = weight_bytes(model, config) + 3 * wide * model.parameter_count(),
          .activations = fitting_bytes(model, config, pack, /*head=*/true),
          .host = offloaded_bytes(model, config, pack)};
}

/// A critic with its own body is trained next to the frozen policy, and its best weights are kept.
/// On the policy's trunk only the head is trained, and a pass keeps nothing of the layers.
DataStageMemory plan_critic_fitting(const ModelConfig& model, const LearnerConfig& config,
                                    int64_t pack) {
  const int64_t policy = weight_bytes(model, config);
  if (config.critic.kind == CriticKind::shared) {
    return {.parameters = policy, .activations = layer_work(model, pack, element_of(config))};
  }
  return {.parameters = 2 * policy + 4 * wide * model.parameter_count(),
          .activations = fitting_bytes(model, config, pack, /*head=*/false),
          .host = offloaded_bytes(model, config, pack)};
}

LearnerMemory plan_learner_memory(const ModelConfig& model, const LearnerConfig& config,
                                  const TrajectoryBounds& bounds) {
  const int64_t element = element_of(config);
  const int64_t count = model.parameter_count();
  LearnerMemory plan;
  const int64_t whole = trained_bytes(count, config.gpus) + (element < wide ? count * element : 0);
  plan.parameters = config.lora.rank > 0 ? adapted_bytes(model, config, element) : whole;
  if (config.critic.kind == CriticKind::separate) plan.parameters += whole;
  plan.published = count * element;
  plan.reference = config.loss.kl > 0 && config.lora.rank == 0 ? count * element : 0;
  if (config.device == ComputeDevice::cpu) return plan;
  const int64_t pack = std::max(bounds.longest, config.pack_tokens);
  const bool stashed = config.offloads(Offload::layer_inputs);
  const int64_t spared = config.lora.rank > 0 ? 0 : spared_gradients(model, config.step);
  plan.activations = activation_bytes(model, pack, element, stashed, spared);
  plan.host = stashed ? stashed_bytes(model, pack, element) : 0;
  if (config.forwards == ForwardMode::streamed) plan_prefixes(plan, model, config, bounds);
  return plan;
}

}  // namespace warpsmith::policy
