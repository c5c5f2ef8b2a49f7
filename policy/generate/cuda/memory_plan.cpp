// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cuda/memory_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "policy/generate/cuda/batch_rows.hpp"
#include "runtime/text.hpp"

namespace warpsmith::policy::cuda {
namespace {

/// Left to the driver: modules, graphs, and what its allocator rounds up.
constexpr int64_t reserve_bytes = int64_t{768} << 20;

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
  const std::string parts = fmt::format(
      "the engine needs {} of GPU memory (weights {}, cache {}, activations and logits "
      "{}, workspaces {}, driver {}), but {} are free: ",
      size_text(plan.total() + reserve_bytes), size_text(plan.weights), size_text(plan.cache),
      size_text(plan.activations), size_text(plan.workspaces), size_text(reserve_bytes),
      size_text(std::max<int64_t>(free, 0)));
  const int64_t tokens = fitting_tokens(plan, free);
  if (tokens >= config.max_session_tokens) {
    return fail(ErrorCode::capacity, fmt::format("{}lower cache_tokens from {} to at most {}",
                                                 parts, config.cache_tokens, tokens));
  }
  const std::string remedy =
      plan.weights + reserve_bytes > free
          ? "the weights alone do not fit; use a smaller model or another GPU"
          : fmt::format("lower the tokens of a session ({}), step_rows ({}) or max_batch ({})",
                        config.max_session_tokens, config.step_rows, config.max_batch);
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
