// SPDX-License-Identifier: Apache-2.0
#include "policy/text/fenced_files.hpp"

#include <gtest/gtest.h>

namespace warpsmith::policy {
namespace {

TEST(FencedFilesTest, AnOpeningLineNamesTheFile) {
  const auto files = fenced_files(
      "Two files:\n```cpp solution/kernel.cpp\nint a;\nint "
      "b;\n```\nand\n```solution/plan.toml\n```\n");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].path, "solution/kernel.cpp");
  EXPECT_EQ(files[0].content, "int a;\nint b;");
  EXPECT_EQ(files[1].path, "solution/plan.toml");
  EXPECT_EQ(files[1].content, "");
}

TEST(FencedFilesTest, BlocksWithoutAPathAreSkipped) {
  const auto files = fenced_files("```python\nprint()\n```\n```cu a.cu\nx\n```");
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].path, "a.cu");
}

TEST(FencedFilesTest, ALongerFenceMayContainShorterOnes) {
  const auto files = fenced_files("````md notes.md\n```\ncode\n```\n````\n");
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].content, "```\ncode\n```");
}

TEST(FencedFilesTest, AnUnclosedBlockIsNotAFile) {
  EXPECT_TRUE(fenced_files("```cpp kernel.cpp\nint a;\n").empty());
  EXPECT_TRUE(fenced_files("```cpp kernel.cpp").empty());
  EXPECT_TRUE(fenced_files("").empty());
}

TEST(FencedFilesTest, ThoughtsAreNotPartOfTheAnswer) {
  const auto files = fenced_files(
      "<think>\n```cpp kernel.cpp\ndraft\n```\n</think>\n```cpp kernel.cpp\nfinal\n```");
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].content, "final");
}

TEST(FencedFilesTest, TheNumberOfFilesInAnAnswerIsBounded) {
  std::string answer;
  for (int i = 0; i < 40; ++i) answer += "```f" + std::to_string(i) + ".cpp\nx\n```\n";
  EXPECT_EQ(fenced_files(answer).size(), max_fenced_files);
}

TEST(FencedFilesTest, FilesBecomeWritesAndASubmission) {
  const auto calls = calls_of_files({{"kernel.cpp", "int a;"}, {"solution/plan.toml", "p"}});
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0],
            (ParsedCall{"write", {{"path", "solution/kernel.cpp"}, {"content", "int a;"}}}));
  EXPECT_EQ(calls[1].arguments.at("path"), "solution/plan.toml");
  EXPECT_EQ(calls[2], (ParsedCall{"submit", {}}));
  EXPECT_TRUE(calls_of_files({}).empty());
}

}  // namespace
}  // namespace warpsmith::policy
