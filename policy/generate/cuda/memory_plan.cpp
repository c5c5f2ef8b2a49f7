// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cuda/memory_plan.hpp"

#include <algorithm>
#include <cstdio>

#include "policy/generate/cuda/batch_rows.hpp"

namespace warpsmith::policy::cuda {
namespace {

/// Left to the driver: modules, graphs, and what its allocator rounds up.
constexpr int64_t reserve_bytes = int64_t{768} << 20;

std::string gib(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

/// The largest cache that fits, in tokens; rounded down to blocks.
int64_t fitting_tokens(const MemoryPlan& plan, int64_t free) {
  const int64_t left = free - reserve_bytes - (plan.total() - plan.cache);
  const int64_t tokens = left / plan.cache_token - block_tokens;  // one block is scratch
  return std::max<int64_t>(tokens, 0) / block_tokens * block_tokens;
}

}  // namespace

BatchLimits::BatchLimits(const EngineConfig& config)
    : rows(config.step_rows),
      sequences(std::min({config.max_batch, config.max_sessions, config.step_rows})),
      blocks(sequences * blocks_for(config.max_session_tokens)) {}

MemoryPlan plan_memory(const ModelConfig& m, const EngineConfig& config, Precision precision) {
  const int64_t element = element_bytes(precision);
  const BatchLimits limits(config);
  MemoryPlan plan;
  plan.weights = m.parameter_count() * element;
  plan.cache_token = 2 * m.layers * m.kv_size() * element;
  plan.cache = (config.blocks() + 1) * block_tokens * plan.cache_token;
  const int64_t row = 4 * m.hidden + element * (m.hidden + m.qkv_size() + m.q_size() + 3 * m.ffn);
  plan.activations = limits.rows * row + limits.sequences * (m.vocab * 4 + m.hidden * element);
  const BatchLayout layout(limits.rows, limits.sequences, limits.sequences);
  plan.workspaces = blas_workspace_bytes + attention_float_bytes + attention_int_bytes +
                    layout.bytes(limits.blocks) + config.max_session_tokens * m.head_dim * 4;
  return plan;
}

Result<void> check_memory(const MemoryPlan& plan, const EngineConfig& config, int64_t free) {
  if (plan.total() + reserve_bytes <= free) return {};
  const std::string parts =
      "the engine needs " + gib(plan.total() + reserve_bytes) + " of GPU memory (weights " +
      gib(plan.weights) + ", cache " + gib(plan.cache) + ", activations and logits " +
      gib(plan.activations) + ", workspaces " + gib(plan.workspaces) + ", driver " +
      gib(reserve_bytes) + "), but " + gib(std::max<int64_t>(free, 0)) + " are free: ";
  const int64_t tokens = fitting_tokens(plan, free);
  if (tokens >= config.max_session_tokens) {
    return fail(ErrorCode::capacity, parts + "lower cache_tokens from " +
                                         std::to_string(config.cache_tokens) + " to at most " +
                                         std::to_string(tokens));
  }
  const std::string remedy =
      plan.weights + reserve_bytes > free
          ? "the weights alone do not fit; use a smaller model or another GPU"
          : "lower the tokens of a session (" + std::to_string(config.max_session_tokens) +
                "), step_rows (" + std::to_string(config.step_rows) + ") or max_batch (" +
                std::to_string(config.max_batch) + ")";
  return fail(ErrorCode::capacity, parts + remedy);
}

double decode_roofline(const ModelConfig& model, int64_t batch, double context, double bandwidth) {
  const int64_t element = element_bytes(Precision::bf16);
  // A step reads only a few rows of an embedding, unless that is the head too.
  const int64_t unread = model.tied_embeddings ? 0 : model.vocab * model.hidden;
  const auto weights = static_cast<double>((model.parameter_count() - unread) * element);
  const auto token = static_cast<double>(2 * model.layers * model.kv_size() * element);
  const auto sequences = static_cast<double>(batch);
  return sequences * bandwidth / (weights + sequences * context * token);
}

}  // namespace warpsmith::policy::cuda
