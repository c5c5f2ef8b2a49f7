// SPDX-License-Identifier: Apache-2.0
#include "synthesis/composition_journal.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "runtime/random_stream.hpp"
#include "synthesis/composition.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::synthesis {
namespace {

using ::testing::HasSubstr;

const Composition good{.index = 0,
                       .id = "relu_sum_1f",
                       .code = "import torch\n# größer\n",
                       .hash = "1f",
                       .ops = {"torch.relu", "torch.sum"},
                       .eager_ms = 0.25};
const Composition bad{
    .index = 1, .reason = "too_fast", .detail = "0.01 ms", .steps = {{"eager", 0.5}}};

TEST(CompositionRecordTest, WrittenRecordsAreReadBack) {
  EXPECT_EQ(parse_composition(to_json(good)).value(), good);
  EXPECT_EQ(parse_composition(to_json(bad)).value(), bad);
}

TEST(CompositionRecordTest, ADetailHasUpToThreeHundredLettersOfAnyByteLength) {
  Composition said = bad;
  said.detail.clear();
  for (int i = 0; i < 300; ++i) said.detail += "\xF0\x9F\x98\x80";
  EXPECT_EQ(parse_composition(to_json(said)).value(), said);
}

TEST(CompositionRecordTest, EveryWrongValueIsRefusedWithItsKey) {
  const std::pair<const char*, const char*> wrong[]{
      {"[]", "expected an object"},
      {R"({"reason": "x"})", "index"},
      {R"({"index": -1, "reason": "x"})", "index"},
      {R"({"index": 1, "reason": ""})", "reason"},
      {R"({"index": 1, "reason": 3})", "reason"},
      {R"({"index": 1, "reason": "x", "detail": 3})", "detail"},
      {R"({"index": 1, "reason": "x", "steps": 3})", "steps"},
      {R"({"index": 1, "reason": "x", "steps": {"a": "b"}})", "steps"},
      {R"({"index": 1, "reason": null})", "row"},
      {R"({"index": 1, "reason": null, "row": {"id": "../a", "code": "c", "hash": "h", "ops": [],
          "eager_ms": 1}})",
       "id"},
      {R"({"index": 1, "reason": null, "row": {"id": "a", "code": "", "hash": "h", "ops": [],
          "eager_ms": 1}})",
       "code"},
      {R"({"index": 1, "reason": null, "row": {"id": "a", "code": "c", "hash": "h", "ops": [1],
          "eager_ms": 1}})",
       "ops"},
      {R"({"index": 1, "reason": null, "row": {"id": "a", "code": "c", "hash": "h", "ops": [],
          "eager_ms": "1"}})",
       "eager_ms"}};
  for (const auto& [text, key] : wrong) {
    const auto found = parse_composition(text);
    ASSERT_FALSE(found.has_value()) << text;
    EXPECT_THAT(found.error().message, HasSubstr(key)) << text;
  }
}

TEST(CompositionRecordTest, ChangedTextsYieldAMessageOrARecord) {
  RandomStream stream(1, "records");
  for (int i = 0; i < 2000; ++i) {
    std::string text = to_json(i % 2 == 0 ? good : bad);
    text[stream.below(text.size())] = static_cast<char>(stream.below(256));
    const auto found = parse_composition(text);
    EXPECT_TRUE(found.has_value() || found.error().message.starts_with("composition: "));
  }
}

class CompositionJournalTest : public ::testing::Test {
 protected:
  Result<CompositionJournal> open(const std::string& origin = "{\"seed\":1}") {
    return CompositionJournal::open(file, origin);
  }
  void fill() {
    auto journal = open();
    ASSERT_TRUE(journal.has_value()) << journal.error().message;
    ASSERT_TRUE(journal->add(good).has_value());
    ASSERT_TRUE(journal->add(bad).has_value());
  }
  test_support::TemporaryFolder folder;
  std::filesystem::path file = folder.path() / "synthesis" / "journal.jsonl";
};

TEST_F(CompositionJournalTest, ContinuesAfterTheLastWholeLine) {
  fill();
  std::ofstream{file, std::ios::app} << R"({"index": 2, "rea)";
  const auto again = open();
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(again->earlier(), (std::vector{good, bad}));
  EXPECT_EQ(open()->earlier().size(), 2U) << "what was cut off is gone from the file";
}

TEST_F(CompositionJournalTest, RefusesAnotherOriginAndForeignLines) {
  fill();
  EXPECT_THAT(open("{\"seed\":2}").error().message, HasSubstr("composed from {\"seed\":1}"));
  std::ofstream{file, std::ios::app} << to_json(good) << '\n';
  EXPECT_THAT(open().error().message, HasSubstr("journal.jsonl:4: is not the next candidate"));
}

}  // namespace
}  // namespace warpsmith::synthesis
