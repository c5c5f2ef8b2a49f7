// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/toml_depth.hpp"

#include <gtest/gtest.h>

#include <string>

namespace warpsmith {
namespace {

std::string key(int dots, const std::string& part = "a", const std::string& dot = ".") {
  std::string text = part;
  for (int i = 0; i < dots; ++i) text.append(dot).append(part);
  return text;
}

TEST(TomlDepthTest, AKeyOfTooManyDotsIsFoundByItsLine) {
  EXPECT_EQ(line_of_too_deep_key(key(most_dots_of_a_key) + " = 1"), std::nullopt);
  EXPECT_EQ(line_of_too_deep_key(key(most_dots_of_a_key + 1) + " = 1"), 1);
  EXPECT_EQ(line_of_too_deep_key("x = 1\n\n[" + key(200'000) + "]\n"), 3);
  EXPECT_EQ(line_of_too_deep_key("x = [1, {" + key(40) + " = 1}]"), 1);
}

TEST(TomlDepthTest, QuotedPartsAndBlanksCount) {
  EXPECT_EQ(line_of_too_deep_key(key(33, "\"\"")), 1);
  EXPECT_EQ(line_of_too_deep_key(key(33, "'b'", " . ")), 1);
  EXPECT_EQ(line_of_too_deep_key(key(33, R"("\"#")")), 1);
}

TEST(TomlDepthTest, DotsOfNumbersStringsAndCommentsDoNot) {
  const std::string dots(100, '.');
  EXPECT_EQ(line_of_too_deep_key("# " + dots), std::nullopt);
  EXPECT_EQ(line_of_too_deep_key("x = \"" + dots + "\""), std::nullopt);
  EXPECT_EQ(line_of_too_deep_key("x = '" + dots + "\\' # " + dots), std::nullopt);
  EXPECT_EQ(line_of_too_deep_key("x = \"\"\"\n" + dots + "\"a\"\n" + dots + "\"\"\"\"\""),
            std::nullopt);
  EXPECT_EQ(line_of_too_deep_key("x = '''\n" + dots + "'\n'''\ny = 1"), std::nullopt);
  EXPECT_EQ(line_of_too_deep_key("x = [" + key(100, "0.5", ", ") + "]"), std::nullopt);
}

TEST(TomlDepthTest, TextAfterAMultilineStringIsScanned) {
  const std::string deep = "\n" + key(40) + " = 1";
  EXPECT_EQ(line_of_too_deep_key("x = \"\"\"a\"\"\"" + deep), 2);
  EXPECT_EQ(line_of_too_deep_key("x = \"\"\"a\"\"\"\"\"" + deep), 2) << "two quotes of its own";
  EXPECT_EQ(line_of_too_deep_key("x = ''''''" + deep), 2);
  EXPECT_EQ(line_of_too_deep_key("x = \"\"" + deep), 2);
}

TEST(TomlDepthTest, TextsThatEndWithinAStringEnd) {
  for (const char* text : {"", "\"", "\"\"\"", "'''a''", "\"\\", "\"\"\"\\", "a.'"}) {
    EXPECT_EQ(line_of_too_deep_key(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace warpsmith
