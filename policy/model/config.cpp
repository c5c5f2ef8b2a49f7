// SPDX-License-Identifier: Apache-2.0
#include "policy/model/config.hpp"

#include <cmath>
#include <initializer_list>
#include <utility>

namespace warpsmith::policy {
namespace {

constexpr int64_t max_size = int64_t{1} << 24;
constexpr int64_t max_layers = 1024;

Result<void> wrong(const std::string& field, const std::string& expected, const std::string& got) {
  return fail(ErrorCode::parse_failed,
              "model config: " + field + ": expected " + expected + ", got " + got);
}

Result<void> check_sizes(const ModelConfig& c) {
  const std::initializer_list<std::pair<const char*, int64_t>> sizes{
      {"vocab_size", c.vocab},
      {"hidden_size", c.hidden},
      {"num_attention_heads", c.heads},
      {"num_key_value_heads", c.kv_heads},
      {"head_dim", c.head_dim},
      {"intermediate_size", c.ffn},
      {"max_position_embeddings", c.max_positions}};
  for (const auto& [name, value] : sizes) {
    if (value < 1 || value > max_size) return wrong(name, "1 to 2^24", std::to_string(value));
  }
  if (c.layers < 1 || c.layers > max_layers) {
    return wrong("num_hidden_layers", "1 to 1024", std::to_string(c.layers));
  }
  if (c.heads * c.head_dim > max_size) {
    return wrong("heads x head_dim", "at most 2^24", std::to_string(c.heads * c.head_dim));
  }
  return {};
}

Result<void> check_positive(const char* name, double value) {
  if (std::isfinite(value) && value > 0) return {};
  return wrong(name, "a positive number", std::to_string(value));
}

Result<void> check_yarn(const RopeScaling& r) {
  if (auto ok = check_positive("rope beta_slow", r.beta_slow); !ok) return ok;
  if (!std::isfinite(r.attention_factor) || r.attention_factor < 0) {
    return wrong("rope attention_factor", "a number of at least 0",
                 std::to_string(r.attention_factor));
  }
  if (std::isfinite(r.beta_fast) && r.beta_fast > r.beta_slow) return {};
  return wrong("rope beta_fast", "more than beta_slow", std::to_string(r.beta_fast));
}

Result<void> check_rope(const ModelConfig& c) {
  if (c.head_dim % 2 != 0) return wrong("head_dim", "an even number", std::to_string(c.head_dim));
  const RopeScaling& r = c.rope;
  for (const auto& [name, value] :
       {std::pair{"rope_theta", c.rope_theta}, std::pair{"rope factor", r.factor},
        std::pair{"rope low_freq_factor", r.low_freq_factor},
        std::pair{"rope high_freq_factor", r.high_freq_factor},
        std::pair{"rms_norm_eps", c.rms_eps}}) {
    if (auto ok = check_positive(name, value); !ok) return ok;
  }
  if (r.kind == RopeScalingKind::none || r.kind == RopeScalingKind::linear) return {};
  if (r.original_max_positions < 1) {
    return wrong("original_max_position_embeddings", "at least 1",
                 std::to_string(r.original_max_positions));
  }
  if (r.kind == RopeScalingKind::yarn) return check_yarn(r);
  if (r.high_freq_factor > r.low_freq_factor) return {};
  return wrong("rope high_freq_factor", "more than low_freq_factor",
               std::to_string(r.high_freq_factor));
}

}  // namespace

int64_t ModelConfig::parameter_count() const {
  const int64_t attention = hidden * qkv_size() + (qkv_bias ? qkv_size() : 0) + q_size() * hidden +
                            (out_bias ? hidden : 0) + (qk_norm ? 2 * head_dim : 0);
  const int64_t mlp = 3 * hidden * ffn + (mlp_bias ? 2 * ffn + hidden : 0);
  return (tied_embeddings ? 1 : 2) * vocab * hidden + layers * (attention + mlp + 2 * hidden) +
         hidden;
}

Result<void> ModelConfig::validate() const {
  if (auto sizes = check_sizes(*this); !sizes) return sizes;
  if (heads % kv_heads != 0) {
    return wrong("num_key_value_heads", "a divisor of " + std::to_string(heads) + " heads",
                 std::to_string(kv_heads));
  }
  if (!std::isfinite(init_std) || init_std < 0) {
    return wrong("initializer_range", "a number of at least 0", std::to_string(init_std));
  }
  return check_rope(*this);
}

const char* to_string(Family family) noexcept {
  switch (family) {
    case Family::llama:
      return "llama";
    case Family::qwen2:
      return "qwen2";
    case Family::qwen3:
      return "qwen3";
  }
  return "unknown";
}

}  // namespace warpsmith::policy
