// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/memory_plan.hpp"

#include <algorithm>

#include "policy/learn/lora.hpp"

namespace warpsmith::policy {
namespace {

constexpr int64_t wide = 4;             // bytes of a float32
constexpr int64_t head_rows = 2048;     // of logits at once; see token_log_probs
constexpr int64_t block_rows = 16'384;  // of a feed-forward block at once; see run_layer_again

/// What the backward pass of one layer makes and frees again: the projections, their rotated
/// copies and the gradients of both, and the widest part of the feed-forward block.
int64_t layer_work(const ModelConfig& m, int64_t tokens, int64_t element) {
  const int64_t attention = 5 * m.qkv_size() + 4 * m.hidden;
  const int64_t block = std::min(tokens, block_rows) * (8 * m.ffn + 6 * m.hidden);
  return element * (tokens * attention + block);
}

/// What scoring makes and frees again: hidden rows and their gradients, logits, the head's
/// gradient.
int64_t head_work(const ModelConfig& m, int64_t tokens, int64_t element) {
  const int64_t rows = std::min(tokens, head_rows);
  return 3 * tokens * m.hidden * element + rows * m.vocab * (3 * wide + element) +
         m.vocab * m.hidden * (wide + element);
}

int64_t activation_bytes(const ModelConfig& m, int64_t tokens, int64_t element) {
  const int64_t kept_output = element < wide ? m.q_size() * element + m.heads * wide : 0;
  const int64_t kept = m.layers * tokens * (m.hidden * element + kept_output);
  return kept + std::max(layer_work(m, tokens, element), head_work(m, tokens, element));
}

/// Of `count` parameters that are trained: master weights, gradients, and this rank's part of two
/// moments.
int64_t trained_bytes(int64_t count, int64_t ranks) {
  return count * 2 * wide + 2 * wide * ((count + ranks - 1) / ranks);
}

/// Of a policy whose adapters are trained: all weights, the frozen values of the targets, the
/// adapters, and the gradients of one layer's targets in both types.
int64_t adapted_bytes(const ModelConfig& m, const LearnerConfig& c, int64_t element) {
  const LoraSize size = size_of(c.lora, m);
  return (m.parameter_count() + size.targets) * element + trained_bytes(size.adapters, c.gpus) +
         size.targets / m.layers * (wide + element);
}

}  // namespace

LearnerMemory plan_learner_memory(const ModelConfig& model, const LearnerConfig& config,
                                  int64_t longest) {
  const bool gpu = config.device == ComputeDevice::cuda;
  const bool narrow = gpu && config.precision == ComputePrecision::bf16;
  const int64_t element = narrow ? 2 : wide;
  const int64_t count = model.parameter_count();
  LearnerMemory plan;
  const int64_t whole = trained_bytes(count, config.gpus) + (narrow ? count * element : 0);
  plan.parameters = config.lora.rank > 0 ? adapted_bytes(model, config, element) : whole;
  if (config.critic.kind == CriticKind::separate) plan.parameters += whole;
  plan.published = count * element;
  plan.reference = config.loss.kl > 0 && config.lora.rank == 0 ? count * element : 0;
  if (!gpu) return plan;
  plan.kept = config.forwards == ForwardMode::streamed ? config.max_held_bytes : 0;
  plan.activations = activation_bytes(model, std::max(longest, config.pack_tokens), element);
  return plan;
}

}  // namespace warpsmith::policy
