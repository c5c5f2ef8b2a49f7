// SPDX-License-Identifier: Apache-2.0
#include "policy/format/config_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "policy/model/config.hpp"
#include "runtime/json_depth.hpp"

namespace warpsmith::policy {
namespace {

using nlohmann::json;

/// Typed look-ups in one object; keeps the first failure.
class Fields {
 public:
  Fields(const json& object, std::string place) : object_(object), place_(std::move(place)) {}

  void read(const char* key, int64_t& into) {
    const json* found = find(key);
    if (found == nullptr) return;
    if (found->is_number_integer()) {
      into = found->get<int64_t>();
    } else {
      complain(key, "an integer", *found);
    }
  }
  void read(const char* key, double& into) {
    const json* found = find(key);
    if (found == nullptr) return;
    if (found->is_number()) {
      into = found->get<double>();
    } else {
      complain(key, "a number", *found);
    }
  }
  void read(const char* key, bool& into) {
    const json* found = find(key);
    if (found == nullptr) return;
    if (found->is_boolean()) {
      into = found->get<bool>();
    } else {
      complain(key, "true or false", *found);
    }
  }
  void read(const char* key, std::string& into) {
    const json* found = find(key);
    if (found == nullptr) return;
    if (found->is_string()) {
      into = found->get<std::string>();
    } else {
      complain(key, "a text", *found);
    }
  }
  template <class T>
  void need(const char* key, T& into) {
    if (find(key) == nullptr) {
      remember(std::string("missing key \"") + key + "\"");
    }
    read(key, into);
  }
  /// The value, unless absent or null.
  const json* find(const char* key) const {
    const auto it = object_.find(key);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  void complain(const char* key, const std::string& expected, const json& got) {
    remember(std::string("\"") + key + "\": expected " + expected + ", got " +
             got.dump(-1, ' ', true, json::error_handler_t::replace).substr(0, 80));
  }
  Result<void> outcome() const {
    if (problem_.empty()) return {};
    return fail(ErrorCode::parse_failed, place_ + ": " + problem_);
  }

 private:
  void remember(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  const json& object_;
  std::string place_;
  std::string problem_;
};

void read_sizes(Fields& fields, ModelConfig& config) {
  fields.need("vocab_size", config.vocab);
  fields.need("hidden_size", config.hidden);
  fields.need("num_hidden_layers", config.layers);
  fields.need("num_attention_heads", config.heads);
  config.kv_heads = config.heads;
  fields.read("num_key_value_heads", config.kv_heads);
  fields.need("intermediate_size", config.ffn);
  config.max_positions = 2048;
  fields.read("max_position_embeddings", config.max_positions);
  fields.read("rms_norm_eps", config.rms_eps);
  fields.read("tie_word_embeddings", config.tied_embeddings);
  fields.read("initializer_range", config.init_std);
  fields.read("bos_token_id", config.bos_token);
}

void read_eos(Fields& fields, ModelConfig& config) {
  const json* found = fields.find("eos_token_id");
  if (found == nullptr) return;
  const json list = found->is_array() ? *found : json::array({*found});
  for (const json& item : list) {
    if (!item.is_number_integer()) return fields.complain("eos_token_id", "token ids", *found);
    config.eos_tokens.push_back(item.get<int64_t>());
  }
}

void read_yarn(Fields& fields, RopeScaling& rope) {
  rope.kind = RopeScalingKind::yarn;
  fields.need("factor", rope.factor);
  fields.need("original_max_position_embeddings", rope.original_max_positions);
  fields.read("beta_fast", rope.beta_fast);
  fields.read("beta_slow", rope.beta_slow);
  fields.read("attention_factor", rope.attention_factor);
  fields.read("truncate", rope.truncate);
  double mscale = 0, mscale_all = 0;
  fields.read("mscale", mscale);
  fields.read("mscale_all_dim", mscale_all);
  if (rope.attention_factor > 0 || mscale == 0 || mscale_all == 0 || rope.factor <= 1) return;
  const double growth = 0.1 * std::log(rope.factor);
  rope.attention_factor = (growth * mscale + 1) / (growth * mscale_all + 1);
}

Result<void> read_rope_object(const json& object, ModelConfig& config) {
  Fields fields(object, "config.json: rope settings");
  std::string kind = "default";
  fields.read("type", kind);  // 4.x before 4.45
  fields.read("rope_type", kind);
  fields.read("rope_theta", config.rope_theta);
  RopeScaling& rope = config.rope;
  if (kind == "linear") {
    rope.kind = RopeScalingKind::linear;
    fields.need("factor", rope.factor);
  } else if (kind == "llama3") {
    rope.kind = RopeScalingKind::llama3;
    fields.need("factor", rope.factor);
    fields.need("low_freq_factor", rope.low_freq_factor);
    fields.need("high_freq_factor", rope.high_freq_factor);
    fields.need("original_max_position_embeddings", rope.original_max_positions);
  } else if (kind == "yarn") {
    read_yarn(fields, rope);
  } else if (kind != "default") {
    return fail(ErrorCode::unsupported, "config.json: rope type \"" + kind +
                                            "\": expected default, linear, llama3 or yarn");
  }
  return fields.outcome();
}

Result<void> read_rope(Fields& fields, ModelConfig& config) {
  fields.read("rope_theta", config.rope_theta);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const json* found = fields.find(key);
    if (found == nullptr) continue;
    if (!found->is_object()) {
      fields.complain(key, "an object", *found);
      continue;
    }
    TRY_VOID(read_rope_object(*found, config));
  }
  return {};
}

Result<const FamilyTraits*> find_family(Fields& fields) {
  std::string type;
  fields.need("model_type", type);
  TRY_VOID(fields.outcome());
  std::string known;
  for (const FamilyTraits& traits : families()) {
    if (type == traits.model_type) return &traits;
    known += (known.empty() ? "" : ", ") + std::string(traits.model_type);
  }
  return fail(ErrorCode::unsupported,
              "config.json: model_type \"" + type + "\": expected one of " + known);
}

Result<DeclaredOptions> read_options(Fields& fields) {
  DeclaredOptions options;
  fields.read("attention_bias", options.attention_bias);
  fields.read("mlp_bias", options.mlp_bias);
  fields.read("use_sliding_window", options.use_sliding_window);
  fields.read("head_dim", options.head_dim);
  std::string activation = "silu";
  fields.read("hidden_act", activation);
  TRY_VOID(fields.outcome());
  if (activation == "silu" || activation == "swish") return options;
  return fail(ErrorCode::unsupported,
              "config.json: hidden_act \"" + activation + "\": expected silu");
}

json rope_json(const ModelConfig& config) {
  const RopeScaling& r = config.rope;
  json rope{{"rope_type", "default"}};
  if (r.kind == RopeScalingKind::linear) rope = {{"rope_type", "linear"}, {"factor", r.factor}};
  if (r.kind == RopeScalingKind::llama3) {
    rope = {{"rope_type", "llama3"},
            {"factor", r.factor},
            {"low_freq_factor", r.low_freq_factor},
            {"high_freq_factor", r.high_freq_factor},
            {"original_max_position_embeddings", r.original_max_positions}};
  }
  if (r.kind == RopeScalingKind::yarn) {
    rope = {{"rope_type", "yarn"},
            {"factor", r.factor},
            {"original_max_position_embeddings", r.original_max_positions},
            {"beta_fast", r.beta_fast},
            {"beta_slow", r.beta_slow},
            {"truncate", r.truncate}};
    if (r.attention_factor > 0) rope["attention_factor"] = r.attention_factor;
  }
  return rope;
}

json token_json(const std::vector<int64_t>& tokens) {
  if (tokens.empty()) return nullptr;
  return tokens.size() == 1 ? json(tokens.front()) : json(tokens);
}

}  // namespace

Result<ModelConfig> parse_config_json(std::string_view text) {
  JsonDepth depth;
  const json object = json::parse(text.begin(), text.end(), depth.watch(), false);
  if (depth.exceeded()) {
    return fail(ErrorCode::parse_failed, "config.json: JSON is nested too deeply");
  }
  if (!object.is_object()) {
    return fail(ErrorCode::parse_failed, "config.json: expected a JSON object");
  }
  Fields fields(object, "config.json");
  TRY(const auto traits, find_family(fields));
  ModelConfig config{.family = traits->family};
  read_sizes(fields, config);
  read_eos(fields, config);
  TRY_VOID(read_rope(fields, config));
  TRY(const auto options, read_options(fields));
  if (config.heads < 1) {
    return fail(ErrorCode::parse_failed,
                fmt::format("config.json: \"num_attention_heads\": expected at least 1, got {}",
                            config.heads));
  }
  TRY_VOID(traits->apply(options, config));
  if (auto ok = config.validate(); !ok) return fail("config.json", ok.error());
  return config;
}

std::string config_json(const ModelConfig& c, std::string_view dtype) {
  json object{{"architectures", {traits_of(c.family).architecture}},
              {"model_type", to_string(c.family)},
              {"vocab_size", c.vocab},
              {"hidden_size", c.hidden},
              {"num_hidden_layers", c.layers},
              {"num_attention_heads", c.heads},
              {"num_key_value_heads", c.kv_heads},
              {"head_dim", c.head_dim},
              {"intermediate_size", c.ffn},
              {"max_position_embeddings", c.max_positions},
              {"rms_norm_eps", c.rms_eps},
              {"rope_theta", c.rope_theta},
              {"hidden_act", "silu"},
              {"attention_bias", c.out_bias},
              {"mlp_bias", c.mlp_bias},
              {"tie_word_embeddings", c.tied_embeddings},
              {"initializer_range", c.init_std},
              {"use_cache", true},
              {"torch_dtype", dtype}};
  json rope = rope_json(c);
  object["rope_scaling"] = c.rope.kind == RopeScalingKind::none ? json() : rope;
  rope["rope_theta"] = c.rope_theta;
  object["rope_parameters"] = rope;
  object["bos_token_id"] = c.bos_token < 0 ? json() : json(c.bos_token);
  object["eos_token_id"] = token_json(c.eos_tokens);
  return object.dump(2) + "\n";
}

}  // namespace warpsmith::policy
