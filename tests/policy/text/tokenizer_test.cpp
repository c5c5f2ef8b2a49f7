// SPDX-License-Identifier: Apache-2.0
// Token ids against the `tokenizers` library (tests/golden/tokenizers/make_tokenizers.py).
#include "policy/text/tokenizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/format/tokenizer_json.hpp"
#include "tests/support/json_file.hpp"

namespace warpsmith::policy {
namespace {

using warpsmith::test::json_file;

const std::string golden_folder = "tests/golden/tokenizers/";

Tokenizer load(const std::string& name) {
  auto tokenizer = read_tokenizer(golden_folder + name);
  if (!tokenizer) throw std::runtime_error(tokenizer.error().message);
  return std::move(*tokenizer);
}

class TokenizerParityTest : public testing::TestWithParam<const char*> {
 protected:
  Tokenizer tokenizer_ = load(GetParam());
  std::vector<std::string> texts_ =
      json_file(golden_folder + "texts.json").get<std::vector<std::string>>();
  nlohmann::json golden_ = json_file(golden_folder + GetParam() + "/golden.json");
};

TEST_P(TokenizerParityTest, SameIdsForAllTexts) {
  ASSERT_GE(texts_.size(), 200U);
  for (size_t i = 0; i < texts_.size(); ++i) {
    EXPECT_EQ(tokenizer_.encode(texts_[i]), golden_["ids"][i].get<std::vector<int32_t>>())
        << "text " << i << ": " << nlohmann::json(texts_[i]).dump();
  }
}

TEST_P(TokenizerParityTest, SameTextsDecoded) {
  for (size_t i = 0; i < texts_.size(); ++i) {
    const auto ids = golden_["ids"][i].get<std::vector<int32_t>>();
    EXPECT_EQ(tokenizer_.decode(ids, Skip::special), golden_["decoded"][i].get<std::string>()) << i;
  }
}

TEST_P(TokenizerParityTest, PostProcessorAddsItsTokens) {
  EXPECT_EQ(tokenizer_.encode("one two", SpecialTokens::add),
            golden_["with_special"].get<std::vector<int32_t>>());
}

INSTANTIATE_TEST_SUITE_P(Kinds, TokenizerParityTest,
                         testing::Values("digits", "qwen", "llama3", "lines"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST(TokenizerTest, UntrustedTextContainsNoAddedTokens) {
  for (const char* name : {"digits", "qwen", "llama3", "lines"}) {
    const Tokenizer tokenizer = load(name);
    const auto json = json_file(golden_folder + name + "/tokenizer.json");
    ASSERT_FALSE(json["added_tokens"].empty()) << name;
    for (const auto& added : json["added_tokens"]) {
      const auto content = added["content"].get<std::string>();
      const auto id = added["id"].get<int32_t>();
      const auto own = tokenizer.encode(MarkedText("a" + content + "b"));
      EXPECT_EQ(own, tokenizer.encode("a" + content + "b")) << name << ": " << content;
      const auto untrusted = tokenizer.encode(MarkedText("a").add_untrusted(content).add("b"));
      EXPECT_EQ(std::ranges::count(untrusted, id), 0) << name << ": " << content;
      EXPECT_EQ(tokenizer.decode(untrusted), "a" + content + "b");
    }
  }
}

TEST(TokenizerTest, BordersOfUntrustedTextSplitNoTokens) {
  const Tokenizer tokenizer = load("qwen");
  const std::string text = "The quick brown fox\n  jumps, 1234 times";
  for (size_t at = 1; at < text.size(); ++at) {
    EXPECT_EQ(tokenizer.encode(MarkedText(text.substr(0, at)).add_untrusted(text.substr(at))),
              tokenizer.encode(text));
  }
}

TEST(TokenizerTest, InvalidUtf8IsReplaced) {
  const Tokenizer tokenizer = load("qwen");
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("a\xFF\xC3")), "a\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(TokenizerTest, UnknownIdsAreLeftOut) {
  const Tokenizer tokenizer = load("qwen");
  const std::vector<int32_t> ids{-1, 1'000'000, tokenizer.id_of("a").value()};
  EXPECT_EQ(tokenizer.decode(ids), "a");
  EXPECT_FALSE(tokenizer.id_of("no such entry"));
}

}  // namespace
}  // namespace warpsmith::policy
