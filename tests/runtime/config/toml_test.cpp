// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/toml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace warpsmith {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

enum class Colour : uint8_t { red, green };
constexpr std::array<std::string_view, 2> colour_names{"red", "green"};
constexpr std::array<std::string_view, 2> pet_names{"cat", "dog"};

/// One field of every kind.
struct Sample {
  int64_t count = 3;
  double rate = 0.5;
  bool on = false;
  std::string name = "n";
  std::vector<std::string> pets{"cat"};
  std::filesystem::path file;
  std::vector<std::filesystem::path> files;
  std::chrono::milliseconds wait{1000};
  int64_t size = 1024;
  Colour colour = Colour::red;
  int64_t inner = 0;
};

void describe(Fields& fields, Sample& s) {
  fields.table("t", [&s](Fields& t) {
    t.integer("count", s.count, {.low = 1, .high = 9});
    t.real("rate", s.rate, {.low = 0, .high = 1, .above_low = true});
    t.flag("on", s.on);
    t.text("name", s.name);
    t.texts("pets", s.pets, pet_names);
    t.path("file", s.file);
    t.paths("files", s.files);
    t.duration("wait", s.wait, {});
    t.bytes("size", s.size, {.low = 1});
    t.choice_of("colour", s.colour, colour_names);
    t.table("sub", [&s](Fields& sub) { sub.integer("inner", s.inner, {}); });
  });
}

Sample read(const std::string& text, const std::vector<std::string>& overrides,
            Complaints& complaints) {
  Sample sample;
  read_toml({"conf/s.toml", text}, overrides, [&](Fields& f) { describe(f, sample); }, complaints);
  return sample;
}

std::string complaints_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  Complaints complaints;
  (void)read(text, overrides, complaints);
  return complaints.text();
}

TEST(TomlTest, ReadsEveryKindOfField) {
  Complaints complaints;
  const Sample s = read(
      "[t]\ncount = 4\nrate = 1\non = true\nname = \"x\"\npets = [\"dog\", \"cat\"]\n"
      "file = \"../a\"\nfiles = [\"/b\", \"c\"]\nwait = \"2s\"\nsize = \"2KiB\"\n"
      "colour = \"green\"\n[t.sub]\ninner = -7\n",
      {}, complaints);
  ASSERT_EQ(complaints.text(), "");
  EXPECT_EQ(s.count, 4);
  EXPECT_EQ(s.rate, 1.0);
  EXPECT_TRUE(s.on);
  EXPECT_EQ(s.name, "x");
  EXPECT_THAT(s.pets, ElementsAre("dog", "cat"));
  EXPECT_EQ(s.file, "a");
  EXPECT_THAT(s.files, ElementsAre("/b", "conf/c"));
  EXPECT_EQ(s.wait, std::chrono::seconds{2});
  EXPECT_EQ(s.size, 2048);
  EXPECT_EQ(s.colour, Colour::green);
  EXPECT_EQ(s.inner, -7);
}

TEST(TomlTest, WrongTypesAndRangesAreAllReportedWithTheirLines) {
  EXPECT_EQ(
      complaints_of("[t]\ncount = \"four\"\nrate = 0\non = 1\nwait = \"soon\"\ncolour = 3\n"),
      "conf/s.toml:2: t.count: expected an integer from 1 to 9, got string \"four\"\n"
      "conf/s.toml:3: t.rate: expected a number from 0 to 1, the low end excluded, got 0\n"
      "conf/s.toml:4: t.on: expected true or false, got 1\n"
      "conf/s.toml:5: t.wait: expected a duration such as \"30s\" or \"1h30m\" (units ms, s, m, "
      "h, d), got \"soon\"\n"
      "conf/s.toml:6: t.colour: expected one of \"red\", \"green\", got 3");
}

TEST(TomlTest, NanIsRefusedAsANumber) {
  EXPECT_THAT(complaints_of("[t]\nrate = nan\n"), HasSubstr("t.rate: expected a number"));
  EXPECT_THAT(complaints_of("[t]\nrate = inf\n"), HasSubstr("t.rate: expected a number"));
}

TEST(TomlTest, UnknownKeysNameTheNearestValidOne) {
  EXPECT_EQ(complaints_of("[t]\ncuont = 4\n"),
            "conf/s.toml:2: unknown key t.cuont; the nearest is t.count");
  EXPECT_EQ(complaints_of("[t]\ninner = 4\n"),
            "conf/s.toml:2: unknown key t.inner; the nearest is t.sub.inner");
  EXPECT_EQ(complaints_of("[t.sob]\ninner = 4\n"),
            "conf/s.toml:1: unknown table t.sob; the nearest is t.sub");
  EXPECT_EQ(complaints_of("[sub]\ninner = 4\n"),
            "conf/s.toml:1: unknown table sub; the nearest is t.sub");
  EXPECT_EQ(complaints_of("[zebra]\ninner = 4\n"),
            "conf/s.toml:1: unknown table zebra; expected one of t, t.sub");
}

TEST(TomlTest, NamesCannotAddLinesToTheReport) {
  EXPECT_EQ(complaints_of("[t]\n\"cou\\r\\nnt\" = 4\n"),
            "conf/s.toml:2: unknown key t.cou\\r\\nnt; the nearest is t.count");
}

TEST(TomlTest, KeysWithTooManyPartsAreRefused) {
  std::string deep = "a";
  for (int i = 0; i < 200'000; ++i) deep += ".a";
  EXPECT_EQ(complaints_of("[t]\n" + deep + " = 1\n"),
            "conf/s.toml:2: a key with more than 32 dots");
  EXPECT_THAT(complaints_of("", {deep + "=1"}), HasSubstr(": a key with more than 32 dots"));
}

TEST(TomlTest, AKeyWhereATableBelongsIsReportedOnce) {
  EXPECT_EQ(complaints_of("t = 3\n"), "conf/s.toml:1: t: expected a table, got 3");
}

TEST(TomlTest, AListElementThatIsNotAllowedIsNamed) {
  EXPECT_EQ(complaints_of("[t]\npets = [\"cat\", \"cow\"]\n"),
            "conf/s.toml:2: t.pets: expected any of \"cat\", \"dog\", got \"cow\"");
}

TEST(TomlTest, BrokenSyntaxNamesItsLine) {
  EXPECT_THAT(complaints_of("[t]\ncount = = 3\n"), HasSubstr("conf/s.toml:2: not TOML: "));
}

TEST(TomlTest, AHeaderThatFailsAnAssertionOfTheLibraryIsReported) {
  EXPECT_THAT(complaints_of("[.a]\n"), HasSubstr("conf/s.toml: not TOML: "));
}

TEST(TomlTest, TheLastOverrideWins) {
  Complaints complaints;
  const Sample s = read("[t]\ncount = 4\n", {"t.count=5", "t.count=6"}, complaints);
  EXPECT_EQ(complaints.text(), "");
  EXPECT_EQ(s.count, 6);
}

TEST(TomlTest, OverridesTakeTomlValuesAndBareWords) {
  Complaints complaints;
  const Sample s =
      read("", {"t.name=plain", "t.wait=10m", "t.pets=[\"dog\"]", "t.sub.inner=2", "t.file=here/x"},
           complaints);
  EXPECT_EQ(complaints.text(), "");
  EXPECT_EQ(s.name, "plain");
  EXPECT_EQ(s.wait, std::chrono::minutes{10});
  EXPECT_THAT(s.pets, ElementsAre("dog"));
  EXPECT_EQ(s.inner, 2);
  EXPECT_EQ(s.file, "here/x");  // from the working directory, not from the file's folder
}

TEST(TomlTest, OverridesAreCheckedLikeTheFile) {
  EXPECT_EQ(complaints_of("", {"t.count=99"}),
            "--set t.count=99: t.count: expected an integer from 1 to 9, got 99");
  EXPECT_EQ(complaints_of("", {"t.coun=1"}),
            "--set t.coun=1: unknown key t.coun; the nearest is t.count");
  EXPECT_EQ(complaints_of("", {"t.count"}), "--set t.count: expected TABLE.KEY=VALUE on one line");
  EXPECT_EQ(complaints_of("", {"t.name=a\nx=1"}),
            "--set t.name=a\nx=1: expected TABLE.KEY=VALUE on one line");
}

TEST(TomlTest, WrittenValuesReadBackUnchanged) {
  Sample sample;
  sample.name = "quote \" slash \\ tab \t umlaut \xc3\xbc bell \a";
  sample.rate = 0.1 + 0.2;
  sample.wait = std::chrono::milliseconds{61'001};
  sample.file = "/abs/file";
  const std::string text = write_toml([&](Fields& f) { describe(f, sample); });
  Complaints complaints;
  const Sample back = read(text, {}, complaints);
  ASSERT_EQ(complaints.text(), "") << text;
  EXPECT_EQ(back.name, sample.name);
  EXPECT_EQ(back.rate, sample.rate);
  EXPECT_EQ(back.wait, sample.wait);
  EXPECT_EQ(back.file, sample.file);
}

}  // namespace
}  // namespace warpsmith
