// SPDX-License-Identifier: Apache-2.0
// Model folders: shards, round trips, and the errors for broken ones.
#include "policy/format/hf_folder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "policy/format/config_json.hpp"
#include "policy/format/safetensors.hpp"
#include "policy/format/tokenizer_json.hpp"
#include "tests/support/json_file.hpp"
#include "tests/support/mutate.hpp"
#include "tests/support/small_models.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::policy {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using warpsmith::test::file_text;
using warpsmith::test::json_file;

const std::string golden = "tests/golden/models/";

class HfFolderTest : public testing::Test {
 protected:
  /// Splits a golden model into two shards with an index.
  void write_shards() const {
    fs::copy(golden + "qwen3/config.json", folder_ / "config.json");
    const auto all = read_safetensors(golden + "qwen3/model.safetensors");
    WeightMap shards[2];
    json index{{"weight_map", json::object()}};
    for (const auto& [name, tensor] : *all) {
      const size_t which = name.find("layers.1") == std::string::npos ? 0 : 1;
      shards[which][name] = tensor;
      index["weight_map"][name] = shard_name(which);
    }
    for (const size_t i : {0U, 1U}) {
      ASSERT_TRUE(write_safetensors(folder_ / shard_name(i), shards[i]));
    }
    std::ofstream(folder_ / "model.safetensors.index.json") << index;
  }
  static std::string shard_name(size_t i) {
    return "model-0000" + std::to_string(i + 1) + "-of-00002.safetensors";
  }
  void expect_refused(ErrorCode code, const std::string& words) const {
    const auto model = load_hf_model(folder_);
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, code) << model.error().message;
    EXPECT_NE(model.error().message.find(words), std::string::npos) << model.error().message;
  }

  test_support::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

TEST_F(HfFolderTest, ShardsAreOneModel) {
  write_shards();
  const auto sharded = load_hf_model(folder_);
  ASSERT_TRUE(sharded) << sharded.error().message;
  const auto whole = load_hf_model(golden + "qwen3");
  const auto a = sharded->weights().parameters();
  const auto b = whole->weights().parameters();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].second.equal(b[i].second)) << a[i].first;
}

TEST_F(HfFolderTest, MissingShardIsNamed) {
  write_shards();
  fs::remove(folder_ / shard_name(1));
  expect_refused(ErrorCode::not_found, shard_name(1));
}

TEST_F(HfFolderTest, TensorThatItsShardLacksIsNamed) {
  write_shards();
  json index = json_file((folder_ / "model.safetensors.index.json").string());
  index["weight_map"]["model.norm.weight"] = shard_name(1);
  std::ofstream(folder_ / "model.safetensors.index.json") << index;
  expect_refused(ErrorCode::parse_failed, "model.norm.weight");
}

TEST_F(HfFolderTest, ShardNamesOutsideTheFolderAreRefused) {
  write_shards();
  json index = json_file((folder_ / "model.safetensors.index.json").string());
  index["weight_map"]["model.norm.weight"] = "../" + shard_name(1);
  std::ofstream(folder_ / "model.safetensors.index.json") << index;
  expect_refused(ErrorCode::parse_failed, "not a plain file name");
}

TEST_F(HfFolderTest, AWholeFileTakesPrecedenceOverAnIndex) {
  write_shards();
  fs::copy(golden + "qwen3/model.safetensors", folder_ / "model.safetensors");
  for (const size_t i : {0U, 1U}) fs::remove(folder_ / shard_name(i));
  EXPECT_TRUE(load_hf_model(folder_));
}

TEST_F(HfFolderTest, TensorsThatAreNotWeightsAreIgnored) {
  fs::copy(golden + "qwen3/config.json", folder_ / "config.json");
  std::string bytes = file_text(golden + "qwen3/model.safetensors");
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  const std::string data = bytes.substr(8 + length);
  json header = json::parse(bytes.substr(8, length));
  header["model.mask"] = {
      {"dtype", "U8"}, {"shape", {3}}, {"data_offsets", {data.size(), data.size() + 3}}};
  const auto write = [&](const json& head) {
    const std::string text = head.dump();
    const uint64_t size = text.size();
    std::ofstream(folder_ / "model.safetensors", std::ios::binary)
        << std::string(reinterpret_cast<const char*>(&size), 8) << text << data << "abc";
  };
  write(header);
  EXPECT_TRUE(load_hf_model(folder_));
  header["model.norm.weight"]["dtype"] = "I32";
  write(header);
  expect_refused(ErrorCode::unsupported, "quantised weights are not supported");
}

TEST_F(HfFolderTest, OtherGenerationSettingsAreKept) {
  const auto model = load_hf_model(golden + "llama");
  ASSERT_TRUE(model) << model.error().message;
  ModelConfig config = model->config();
  config.eos_tokens = {7, 9};
  const fs::path source = folder_ / "source";
  fs::create_directory(source);
  std::ofstream(source / "generation_config.json")
      << R"({"temperature": 0.6, "pad_token_id": 3, "eos_token_id": 9, "do_sample": true})";
  const Transformer changed(config, model->weights());
  ASSERT_TRUE(save_hf_model(folder_, changed, source));
  const json written = json_file((folder_ / "generation_config.json").string());
  EXPECT_EQ(written["eos_token_id"], (json{7, 9}));
  EXPECT_EQ(written["temperature"], 0.6);
  EXPECT_EQ(written["pad_token_id"], 3);
  EXPECT_EQ(written["do_sample"], true);
}

TEST_F(HfFolderTest, EmptyFolderIsNotAModelFolder) {
  expect_refused(ErrorCode::not_found, "not a model folder, config.json is missing");
}

TEST(HfFolderNameTest, MissingFolderIsNamed) {
  const auto model = load_hf_model("no/such/folder");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().message, "no/such/folder: no such model folder");
}

TEST_F(HfFolderTest, TruncatedWeightsAreRefused) {
  fs::copy(golden + "qwen2/config.json", folder_ / "config.json");
  const std::string bytes = file_text(golden + "qwen2/model.safetensors");
  std::ofstream(folder_ / "model.safetensors") << bytes.substr(0, bytes.size() - 100);
  expect_refused(ErrorCode::parse_failed, "truncated");
}

TEST_F(HfFolderTest, NumbersThatAreNotFiniteAreRefused) {
  fs::copy(golden + "qwen3/config.json", folder_ / "config.json");
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
      auto tensors = read_safetensors(golden + "qwen3/model.safetensors");
      at::Tensor& tensor = tensors->at("model.layers.1.mlp.down_proj.weight");
      tensor = tensor.to(type, /*non_blocking=*/false, /*copy=*/true);
      tensor.narrow(0, 1, 2).narrow(1, 0, 1).fill_(bad);
      ASSERT_TRUE(write_safetensors(folder_ / "model.safetensors", *tensors));
      expect_refused(ErrorCode::parse_failed,
                     folder_.string() +
                         ": tensor \"model.layers.1.mlp.down_proj.weight\": expected finite "
                         "numbers, got 2 of " +
                         std::to_string(tensor.numel()));
    }
  }
}

TEST_F(HfFolderTest, SavedModelIsTheSame) {
  for (const char* name : {"llama", "llama3_scaled", "llama_linear_bias", "qwen2", "qwen3"}) {
    const auto model = load_hf_model(golden + name);
    ASSERT_TRUE(model) << model.error().message;
    ASSERT_TRUE(save_hf_model(folder_, *model));
    const auto again = load_hf_model(folder_);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(config_json(again->config()), config_json(model->config())) << name;
    const auto a = again->weights().parameters();
    const auto b = model->weights().parameters();
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].second.equal(b[i].second)) << name;
  }
}

TEST_F(HfFolderTest, SavedModelKeepsItsType) {
  const auto wide = load_hf_model(golden + "qwen3");
  ASSERT_TRUE(wide) << wide.error().message;
  const Transformer narrow{wide->config(), wide->weights().converted(at::kBFloat16)};
  ASSERT_TRUE(save_hf_model(folder_, narrow));
  EXPECT_EQ(json_file(folder_ / "config.json")["torch_dtype"], "bfloat16");
  const auto again = load_hf_model(folder_, at::kBFloat16);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->weights().embed.equal(narrow.weights().embed));
}

TEST_F(HfFolderTest, ExportedModelHasTheTypeOfTheOneItCameFrom) {
  const auto wide = load_hf_model(golden + "qwen3");
  ASSERT_TRUE(wide) << wide.error().message;
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf, at::kFloat}) {
    const fs::path from = folder_ / "from";
    const fs::path to = folder_ / "to";
    for (const fs::path& folder : {from, to}) fs::create_directories(folder);
    ASSERT_TRUE(save_hf_model(from, {wide->config(), wide->weights().converted(type)}));
    const auto trained = load_hf_model(from);
    ASSERT_TRUE(trained) << trained.error().message;
    ASSERT_EQ(trained->weights().embed.scalar_type(), at::kFloat);
    const auto exported = export_hf_model(to, *trained, from);
    ASSERT_TRUE(exported) << exported.error().message;
    EXPECT_EQ(file_text(to / "model.safetensors"), file_text(from / "model.safetensors"));
    EXPECT_EQ(file_text(to / "config.json"), file_text(from / "config.json"));
  }
}

TEST_F(HfFolderTest, ModelThatBeganRandomIsExportedInFloat32) {
  fs::copy(golden + "qwen3/config.json", folder_ / "config.json");
  RandomStream random(1, "weights");
  const auto model = make_hf_model(folder_, random);
  ASSERT_TRUE(model) << model.error().message;
  const fs::path to = folder_ / "to";
  fs::create_directory(to);
  ASSERT_TRUE(export_hf_model(to, *model, folder_));
  EXPECT_EQ(json_file(to / "config.json")["torch_dtype"], "float32");
}

TEST_F(HfFolderTest, RandomModelFollowsItsConfig) {
  fs::copy(golden + "qwen3/config.json", folder_ / "config.json");
  RandomStream random(1, "weights");
  const auto model = make_hf_model(folder_, random);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_NEAR(model->weights().embed.std().item<double>(), model->config().init_std, 0.02);
  EXPECT_EQ(model->weights().final_norm.sum().item<double>(), 24.0);
}

TEST(ConfigJsonTest, OldAndNewRotarySpellingsMeanTheSame) {
  json config = json_file(golden + "llama3_scaled/config.json");
  const auto modern = parse_config_json(config.dump());
  ASSERT_TRUE(modern) << modern.error().message;
  json rope = config["rope_parameters"];
  config.erase("rope_parameters");
  config["rope_theta"] = rope["rope_theta"];
  rope.erase("rope_theta");
  config["rope_scaling"] = rope;
  EXPECT_EQ(config_json(*parse_config_json(config.dump())), config_json(*modern));
  EXPECT_EQ(modern->rope.kind, RopeScalingKind::llama3);
  EXPECT_EQ(modern->rope_theta, 500'000.0);
}

TEST(ConfigJsonTest, YarnIsReadAndWritten) {
  json config = json_file(golden + "llama/config.json");
  config["rope_parameters"] = {{"rope_type", "yarn"}, {"rope_theta", 1e6},
                               {"factor", 4.0},       {"original_max_position_embeddings", 32'768},
                               {"mscale", 1.0},       {"mscale_all_dim", 0.5}};
  const auto parsed = parse_config_json(config.dump());
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->rope.kind, RopeScalingKind::yarn);
  EXPECT_EQ(parsed->rope.original_max_positions, 32'768);
  EXPECT_NEAR(parsed->rope.attention_factor, 1.1386294361 / 1.0693147181, 1e-9);
  const std::string written = config_json(*parsed);
  EXPECT_EQ(config_json(*parse_config_json(written)), written);
}

TEST(ConfigJsonTest, ErrorsNameTheKey) {
  const json good = json_file(golden + "llama/config.json");
  const auto refused = [&](const char* key, const json& value, const std::string& words) {
    json bad = good;
    bad[key] = value;
    const auto parsed = parse_config_json(bad.dump());
    ASSERT_FALSE(parsed) << key;
    EXPECT_NE(parsed.error().message.find(words), std::string::npos) << parsed.error().message;
  };
  refused("hidden_size", "big", "\"hidden_size\": expected an integer, got \"big\"");
  refused("hidden_size", nullptr, "missing key \"hidden_size\"");
  refused("num_key_value_heads", 3, "num_key_value_heads: expected a divisor of 4");
  refused("num_attention_heads", 0, "num_attention_heads");
  refused("vocab_size", 1LL << 60, "vocab_size");
  refused("model_type", "mamba", "expected one of llama, qwen2, qwen3");
  refused("hidden_act", "gelu", "expected silu");
  refused("rope_scaling", json{{"rope_type", "dynamic"}},
          "expected default, linear, llama3 or yarn");
  refused("rope_scaling", json{{"rope_type", "yarn"}}, "missing key \"factor\"");
  refused("rope_scaling",
          json{{"rope_type", "yarn"},
               {"factor", 4},
               {"original_max_position_embeddings", 64},
               {"beta_fast", 1}},
          "rope beta_fast: expected more than beta_slow");
  refused("tie_word_embeddings", 1, "true or false");
  refused("head_dim", 7, "even");
}

TEST(ConfigJsonTest, DamagedTextsNeverBreakTheParser) {
  const std::string text = file_text(golden + "llama3_scaled/config.json");
  RandomStream random(1, "fuzz config");
  int accepted = 0;
  for (int i = 0; i < 5'000; ++i) {
    const auto parsed = parse_config_json(warpsmith::test::mutate(text, random));
    if (!parsed) continue;
    ++accepted;
    ASSERT_TRUE(parsed->validate());
  }
  EXPECT_LT(accepted, 5'000);
}

// Deep enough to overflow the stack of a recursive walk.
const std::string deep = std::string(500'000, '[') + std::string(500'000, ']');

TEST(ConfigJsonTest, DeeplyNestedTextsAreRefused) {
  for (const char* key : {"model_type", "eos_token_id", "rope_scaling", "hidden_size"}) {
    const auto parsed = parse_config_json(std::string("{\"") + key + "\": " + deep + "}");
    ASSERT_FALSE(parsed) << key;
    EXPECT_EQ(parsed.error().message, "config.json: JSON is nested too deeply");
  }
}

TEST(TokenizerJsonTest, DeeplyNestedTextsAreRefused) {
  for (const char* key : {"decoder", "model", "added_tokens", "post_processor"}) {
    const auto parsed = parse_tokenizer_json(std::string("{\"") + key + "\": " + deep + "}");
    ASSERT_FALSE(parsed) << key;
    EXPECT_NE(parsed.error().message.find("nested too deeply"), std::string::npos);
  }
}

TEST(TokenizerJsonTest, DamagedTextsNeverBreakTheParser) {
  json small = json_file("tests/golden/tokenizers/qwen/tokenizer.json");
  small["model"]["merges"].erase(small["model"]["merges"].begin() + 20,
                                 small["model"]["merges"].end());
  const std::string text = small.dump();
  RandomStream random(1, "fuzz tokenizer");
  for (int i = 0; i < 1'000; ++i) {
    auto spec = parse_tokenizer_json(warpsmith::test::mutate(text, random));
    if (!spec) continue;
    const auto tokenizer = Tokenizer::make(std::move(*spec));
    if (!tokenizer) continue;
    ASSERT_LE(tokenizer->encode("some text").size(), 9U);
  }
}

TEST(TokenizerJsonTest, AModelWithMergesNeedsNoType) {
  json old = json_file("tests/golden/tokenizers/qwen/tokenizer.json");
  old["model"].erase("type");
  EXPECT_TRUE(parse_tokenizer_json(old.dump()));
  old["model"].erase("merges");
  EXPECT_FALSE(parse_tokenizer_json(old.dump()));
}

TEST(TokenizerJsonTest, ErrorsNameTheComponent) {
  const json good = json_file("tests/golden/tokenizers/qwen/tokenizer.json");
  const auto refused = [&](const char* pointer, const json& value, const std::string& words) {
    json bad = good;
    bad[json::json_pointer(pointer)] = value;
    auto spec = parse_tokenizer_json(bad.dump());
    const auto made = spec ? Tokenizer::make(std::move(*spec)) : tl::unexpected(spec.error());
    ASSERT_FALSE(made) << pointer;
    EXPECT_NE(made.error().message.find(words), std::string::npos) << made.error().message;
  };
  refused("/model/type", "Unigram", "Unigram");
  refused("/model/vocab/a", -1, "expected an id");
  refused("/model/vocab/a", 5, "taken");
  refused("/model/merges/0", "no-space", "item 0 is not a pair");
  refused("/model/merges/0", json{"zz", "qq"}, "not in the vocabulary");
  refused("/normalizer", json{{"type", "NFKC"}}, "NFKC");
  refused("/pre_tokenizer/pretokenizers/0/pattern/Regex", "(", "pattern");
  refused("/pre_tokenizer", json{{"type", "Whitespace"}}, "Whitespace");
  refused("/added_tokens/0/content", "", "added_tokens: item 0");
  refused("/decoder/type", "WordPiece", "WordPiece");
}

}  // namespace
}  // namespace warpsmith::policy
