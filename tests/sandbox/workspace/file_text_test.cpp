// SPDX-License-Identifier: Apache-2.0
#include "sandbox/workspace/file_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/random_stream.hpp"
#include "sandbox/workspace/tool_text.hpp"

namespace warpsmith::sandbox {
namespace {

using testing::HasSubstr;

Result<EditedText> one(std::string text, TextEdit edit, size_t max_bytes = 1000) {
  return apply_edits(std::move(text), {&edit, 1}, max_bytes);
}

TEST(TextEditTest, ReplacesTheOneOccurrence) {
  const auto edited = one("a = 1;\nb = 2;\n", {"b = 2", "b = 3"});
  ASSERT_TRUE(edited) << edited.error().message;
  EXPECT_EQ(edited->text, "a = 1;\nb = 3;\n");
  EXPECT_EQ(edited->replacements, 1U);
}

TEST(TextEditTest, ReplacesAllOnlyOnRequest) {
  EXPECT_THAT(one("xx xx", {"xx", "y"}).error().message, HasSubstr("occurs 2 times"));
  EXPECT_EQ(one("xx xx", {"xx", "y", true})->text, "y y");
  EXPECT_EQ(one("aaa", {"aa", "aaaa", true})->replacements, 1U);
}

TEST(TextEditTest, ImpossibleEditsReportWhy) {
  EXPECT_EQ(one("abc", {"x", "y"}).error().message, "old_string was not found");
  EXPECT_EQ(one("abc", {"", "y"}).error().message, "old_string is empty");
  EXPECT_THAT(one("abc", {"a", "a"}).error().message, HasSubstr("are the same"));
  EXPECT_THAT(one("abc", {"a", std::string(2000, 'x')}).error().message, HasSubstr("allowed are"));
}

TEST(TextEditTest, SeveralEditsBuildOnEachOtherAndNameTheFailingOne) {
  const std::vector<TextEdit> good{{"a", "b1"}, {"b1", "c"}};
  EXPECT_EQ(apply_edits("a", good, 100)->text, "c");
  const std::vector<TextEdit> bad{{"a", "b"}, {"zzz", "c"}};
  EXPECT_EQ(apply_edits("a", bad, 100).error().message, "edit 2: old_string was not found");
}

TEST(TextEditTest, EditsComeFromJson) {
  const auto edits = parse_edits(
      R"([{"old_string":"a","new_string":"b"},{"old_string":"c","new_string":"","replace_all":true}])");
  ASSERT_TRUE(edits) << edits.error().message;
  ASSERT_EQ(edits->size(), 2U);
  EXPECT_TRUE((*edits)[1].replace_all);
  EXPECT_THAT(parse_edits("[]").error().message, HasSubstr("1 to 64 edits"));
  EXPECT_THAT(parse_edits("{").error().message, HasSubstr("JSON array"));
  EXPECT_THAT(parse_edits("[3]").error().message, HasSubstr("edit 1: expected an object"));
}

TEST(TextEditTest, MutatedEditListsParseOrReportWhyNot) {
  RandomStream random{3, "edit_fuzz"};
  const std::string valid = R"([{"old_string":"a\n","new_string":"b","replace_all":true}])";
  for (int i = 0; i < 10'000; ++i) {
    std::string json = valid;
    for (uint64_t n = 1 + random.below(4); n > 0; --n) {
      const size_t at = random.below(json.size());
      if (random.below(2) == 0)
        json[at] = static_cast<char>(random.below(256));
      else
        json.insert(at, 1 + random.below(3), json[random.below(json.size())]);
    }
    const auto edits = parse_edits(json);
    EXPECT_TRUE(edits || !edits.error().message.empty());
    EXPECT_TRUE(!edits || !edits->empty());
  }
}

TEST(TextEditTest, RandomEditsAgreeWithAPlainSearch) {
  RandomStream random{4, "edit_fuzz"};
  const auto word = [&](uint64_t most) {
    std::string text;
    for (uint64_t n = random.below(most + 1); n > 0; --n) text += "ab\n"[random.below(3)];
    return text;
  };
  for (int i = 0; i < 10'000; ++i) {
    const std::string text = word(30);
    const TextEdit edit{word(3), word(3), random.below(2) == 0};
    const auto edited = one(text, edit, 40);
    if (!edited) continue;
    const size_t at = text.find(edit.old_string);
    ASSERT_NE(at, std::string::npos);
    EXPECT_TRUE(edited->text.starts_with(text.substr(0, at) + edit.new_string));
    EXPECT_LE(edited->text.size(), 40U);
    if (!edit.replace_all) {
      EXPECT_EQ(edited->text.substr(at + edit.new_string.size()),
                text.substr(at + edit.old_string.size()));
    }
  }
}

TEST(LineCountTest, CountsALastLineWithoutNewline) {
  EXPECT_EQ(line_count(""), 0U);
  EXPECT_EQ(line_count("a"), 1U);
  EXPECT_EQ(line_count("a\n"), 1U);
  EXPECT_EQ(line_count("a\n\nb"), 3U);
}

TEST(TruncateTest, ShortTextsStayAndLongOnesKeepHeadAndTail) {
  EXPECT_EQ(truncate_result("short", 10), "short");
  EXPECT_EQ(truncate_result("aaaabbbbcccc", 8), "aaaa\n[… 4 bytes left out …]\ncccc");
}

TEST(TruncateTest, CutsAtLinesAndNeverInsideACharacter) {
  EXPECT_EQ(truncate_result("aaaa\nb______c\nddd", 10), "aaaa\n[… 10 bytes left out …]\nddd");
  for (size_t budget = 0; budget < 30; ++budget) {
    const std::string cut = truncate_result("ééééééééééééééé€€€€€€", budget);
    EXPECT_EQ(cut.find("\xC3\n"), std::string::npos);
    const size_t after = cut.find("…]\n");
    if (after == std::string::npos) continue;
    const size_t first = after + std::string("…]\n").size();
    if (first == cut.size()) continue;
    EXPECT_NE(static_cast<unsigned char>(cut[first]) & 0xC0U, 0x80U);
  }
}

TEST(GlobPatternTest, MatchesNamesFoldersAndBoth) {
  EXPECT_TRUE(glob_matches("*.cpp", "solution/kernel.cpp"));
  EXPECT_TRUE(glob_matches("solution/*.cpp", "solution/kernel.cpp"));
  EXPECT_FALSE(glob_matches("solution/*.cpp", "solution/deep/kernel.cpp"));
  EXPECT_TRUE(glob_matches("**/*.cpp", "kernel.cpp"));
  EXPECT_TRUE(glob_matches("solution/**", "solution/a/b/c"));
  EXPECT_TRUE(glob_matches("a/**/z?", "a/b/c/zz"));
  EXPECT_FALSE(glob_matches("a/**/z?", "a/b/c/z"));
  EXPECT_TRUE(glob_matches("./SKILL.md", "SKILL.md"));
}

TEST(GlobPatternTest, ManyStarsTakeNoExponentialTime) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(glob_matches(pattern + "b", std::string(500, 'a')));
}

}  // namespace
}  // namespace warpsmith::sandbox
