// SPDX-License-Identifier: Apache-2.0
#include "policy/model/family.hpp"

#include <stdexcept>

namespace warpsmith::policy {
namespace {

/// Collects the parts of one block.
class BlockParts {
 public:
  BlockParts(const ModelConfig& config, int64_t layer, std::vector<NamedPart>& out)
      : c_(config),
        hf_("model.layers." + std::to_string(layer) + "."),
        fused_("layers." + std::to_string(layer) + "."),
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

}  // namespace

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

const std::vector<FamilyTraits>& families() {
  static const std::vector<FamilyTraits> all{llama_traits(), qwen2_traits(), qwen3_traits()};
  return all;
}

const FamilyTraits& traits_of(Family family) {
  for (const FamilyTraits& traits : families()) {
    if (traits.family == family) return traits;
  }
  throw std::logic_error("model family without traits");
}

}  // namespace warpsmith::policy
