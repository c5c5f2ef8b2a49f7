// SPDX-License-Identifier: Apache-2.0
#include "policy/model/config.hpp"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <stdexcept>
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

/// Collects the parts of one block.
class BlockParts {
 public:
  BlockParts(const ModelConfig& config, int64_t layer, std::vector<NamedPart>& out)
      : c_(config),
        hf_(fmt::format("model.layers.{}.", layer)),
        fused_(fmt::format("layers.{}.", layer)),
        out_(out) {}

  void add_all() {
    add("input_layernorm.weight", "input_norm", 0, {c_.hidden});
    add_projection("weight", "qkv", true);
    if (c_.qkv_bias) add_projection("bias", "qkv_bias", false);
    if (c_.qk_norm) {
      add("self_attn.q_norm.weight", "q_norm", 0, {c_.head_dim});
      add("self_attn.k_norm.weight", "k_norm", 0, {c_.head_dim});
    }
    add("self_attn.o_proj.weight", "out", 0, {c_.hidden, c_.q_size()});
    if (c_.out_bias) add("self_attn.o_proj.bias", "out_bias", 0, {c_.hidden});
    add("post_attention_layernorm.weight", "post_norm", 0, {c_.hidden});
    add("mlp.gate_proj.weight", "gate_up", 0, {c_.ffn, c_.hidden});
    add("mlp.up_proj.weight", "gate_up", c_.ffn, {c_.ffn, c_.hidden});
    if (c_.mlp_bias) {
      add("mlp.gate_proj.bias", "gate_up_bias", 0, {c_.ffn});
      add("mlp.up_proj.bias", "gate_up_bias", c_.ffn, {c_.ffn});
    }
    add("mlp.down_proj.weight", "down", 0, {c_.hidden, c_.ffn});
    if (c_.mlp_bias) add("mlp.down_proj.bias", "down_bias", 0, {c_.hidden});
  }

 private:
  void add(const char* hf, const char* fused, int64_t row, std::vector<int64_t> shape) {
    out_.push_back({hf_ + hf, fused_ + fused, row, std::move(shape)});
  }
  void add_projection(const std::string& kind, const char* fused, bool matrix) {
    int64_t row = 0;
    for (const char* name : {"q", "k", "v"}) {
      const int64_t rows = *name == 'q' ? c_.q_size() : c_.kv_size();
      const std::string hf = std::string("self_attn.") + name + "_proj." + kind;
      add(hf.c_str(), fused, row,
          matrix ? std::vector<int64_t>{rows, c_.hidden} : std::vector<int64_t>{rows});
      row += rows;
    }
  }

  const ModelConfig& c_;
  std::string hf_;
  std::string fused_;
  std::vector<NamedPart>& out_;
};

// The tensor names of Llama and Qwen, with biases and head norms as in the config.
std::vector<NamedPart> llama_style_parts(const ModelConfig& config) {
  std::vector<NamedPart> parts;
  parts.push_back({"model.embed_tokens.weight", "embed", 0, {config.vocab, config.hidden}});
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    BlockParts(config, layer, parts).add_all();
  }
  parts.push_back({"model.norm.weight", "final_norm", 0, {config.hidden}});
  if (!config.tied_embeddings) {
    parts.push_back({"lm_head.weight", "head", 0, {config.vocab, config.hidden}});
  }
  return parts;
}

// Llama 2 and 3, and models with the same model_type, such as SmolLM2.
Result<void> apply_to_llama(const DeclaredOptions& options, ModelConfig& config) {
  config.qkv_bias = options.attention_bias;
  config.out_bias = options.attention_bias;
  config.mlp_bias = options.mlp_bias;
  config.head_dim = options.head_dim != 0 ? options.head_dim : config.hidden / config.heads;
  return {};
}

Result<void> refuse_sliding_window(const DeclaredOptions& options, const char* family) {
  if (!options.use_sliding_window) return {};
  return fail(ErrorCode::unsupported,
              std::string(family) + ": use_sliding_window = true is not supported");
}

// Qwen2 and Qwen2.5: query, key and value projections always have a bias.
Result<void> apply_to_qwen2(const DeclaredOptions& options, ModelConfig& config) {
  if (auto ok = refuse_sliding_window(options, "qwen2"); !ok) return ok;
  config.qkv_bias = true;
  config.head_dim = options.head_dim != 0 ? options.head_dim : config.hidden / config.heads;
  return {};
}

// Qwen3, dense: each head's query and key are normalised before rotation.
Result<void> apply_to_qwen3(const DeclaredOptions& options, ModelConfig& config) {
  constexpr int64_t default_head_dim = 128;  // of transformers' Qwen3Config
  if (auto ok = refuse_sliding_window(options, "qwen3"); !ok) return ok;
  config.qk_norm = true;
  config.qkv_bias = options.attention_bias;
  config.out_bias = options.attention_bias;
  config.head_dim = options.head_dim != 0 ? options.head_dim : default_head_dim;
  return {};
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
    return wrong("num_key_value_heads", fmt::format("a divisor of {} heads", heads),
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

const std::vector<FamilyTraits>& families() {
  static const std::vector<FamilyTraits> all{
      {Family::llama, "llama", "LlamaForCausalLM", apply_to_llama, llama_style_parts},
      {Family::qwen2, "qwen2", "Qwen2ForCausalLM", apply_to_qwen2, llama_style_parts},
      {Family::qwen3, "qwen3", "Qwen3ForCausalLM", apply_to_qwen3, llama_style_parts}};
  return all;
}

const FamilyTraits& traits_of(Family family) {
  for (const FamilyTraits& traits : families()) {
    if (traits.family == family) return traits;
  }
  throw std::logic_error("model family without traits");
}

}  // namespace warpsmith::policy
