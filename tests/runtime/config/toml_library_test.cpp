// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/toml_library.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace warpsmith {
namespace {

std::string key(int dots, const std::string& part = "a", const std::string& dot = ".") {
  std::string text = part;
  for (int i = 0; i < dots; ++i) text.append(dot).append(part);
  return text;
}

std::optional<uint32_t> fault_line(const std::string& text) {
  const auto fault = toml_fault(text);
  return fault ? std::optional{fault->line} : std::nullopt;
}

TEST(TomlScanTest, NonAsciiLettersAreAllowedOnlyInStringsAndComments) {
  EXPECT_EQ(fault_line("\xEF\xBB\xBF# é\nx = \"é\" # ⚠️\ny = 'é'\n"), std::nullopt);
  EXPECT_EQ(fault_line("x = 1\n\uFE0F = 2"), 2);
  EXPECT_EQ(fault_line("x = 1 é"), 1);
  EXPECT_EQ(fault_line("[größe]"), 1);
  EXPECT_NE(toml_fault("x = é")->text.find("in quotes"), std::string::npos);
}

TEST(TomlScanTest, AKeyWithTooManyDotsIsReportedWithItsLine) {
  EXPECT_EQ(fault_line(key(max_key_dots) + " = 1"), std::nullopt);
  EXPECT_EQ(fault_line(key(max_key_dots + 1) + " = 1"), 1);
  EXPECT_EQ(fault_line("x = 1\n\n[" + key(200'000) + "]\n"), 3);
  EXPECT_EQ(fault_line("x = [1, {" + key(40) + " = 1}]"), 1);
}

TEST(TomlScanTest, QuotedPartsAndBlanksAreCounted) {
  EXPECT_EQ(fault_line(key(33, "\"\"")), 1);
  EXPECT_EQ(fault_line(key(33, "'b'", " . ")), 1);
  EXPECT_EQ(fault_line(key(33, R"("\"#")")), 1);
}

TEST(TomlScanTest, DotsInNumbersStringsAndCommentsAreNotCounted) {
  const std::string dots(100, '.');
  EXPECT_EQ(fault_line("# " + dots), std::nullopt);
  EXPECT_EQ(fault_line("x = \"" + dots + "\""), std::nullopt);
  EXPECT_EQ(fault_line("x = '" + dots + "\\' # " + dots), std::nullopt);
  EXPECT_EQ(fault_line("x = \"\"\"\n" + dots + "\"a\"\n" + dots + "\"\"\"\"\""), std::nullopt);
  EXPECT_EQ(fault_line("x = '''\n" + dots + "'\n'''\ny = 1"), std::nullopt);
  EXPECT_EQ(fault_line("x = [" + key(100, "0.5", ", ") + "]"), std::nullopt);
}

TEST(TomlScanTest, TextAfterAMultilineStringIsScanned) {
  const std::string deep = "\n" + key(40) + " = 1";
  EXPECT_EQ(fault_line("x = \"\"\"a\"\"\"" + deep), 2);
  EXPECT_EQ(fault_line("x = \"\"\"a\"\"\"\"\"" + deep), 2) << "two quotes within the string";
  EXPECT_EQ(fault_line("x = ''''''" + deep), 2);
  EXPECT_EQ(fault_line("x = \"\"" + deep), 2);
}

TEST(TomlScanTest, ScanningEndsForTextsThatEndWithinAString) {
  for (const char* text : {"", "\"", "\"\"\"", "'''a''", "\"\\", "\"\"\"\\", "a.'"}) {
    EXPECT_EQ(fault_line(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace warpsmith
