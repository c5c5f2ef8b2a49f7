// SPDX-License-Identifier: Apache-2.0
#include "runtime/text.hpp"

#include <gtest/gtest.h>

namespace warpsmith {
namespace {

TEST(TextTest, SizesHaveTheLargestUnitThatIsNotAboveThem) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(300ULL << 20U), "300 MiB");
  EXPECT_EQ(size_text(5ULL << 28U), "1.25 GiB");
  EXPECT_EQ(size_text(3ULL << 50U), "3072 TiB");
}

TEST(TextTest, MissingNumbersAreDashes) {
  EXPECT_EQ(number_text(1.256, 2), "1.26");
  EXPECT_EQ(number_text(std::nullopt, 2), "-");
  EXPECT_EQ(percent_text(0.434), "43 %");
  EXPECT_EQ(percent_text(std::nullopt), "-");
}

TEST(TextTest, BriefNumbersHaveNoExponentBelowAHundredThousand) {
  EXPECT_EQ(brief_text(0.1234), "0.12");
  EXPECT_EQ(brief_text(12.34), "12.3");
  EXPECT_EQ(brief_text(99'999), "99999");
  EXPECT_EQ(brief_text(1.6e9), "1.6e+09");
}

TEST(TextTest, TablesAlignEachColumn) {
  EXPECT_EQ(text_table("lrl", {{"name", "count", "note"}, {"a", "10", ""}, {"longer", "7", "x"}}),
            "name    count  note\n"
            "a          10\n"
            "longer      7  x\n");
}

TEST(TextTest, TheLastCellOfAShortRowDoesNotWidenItsColumn) {
  EXPECT_EQ(text_table("lr", {{"a heading"}, {"a", "1"}, {"bc", "22"}}),
            "a heading\n"
            "a    1\n"
            "bc  22\n");
}

TEST(TextTest, DurationsAreRoundedByTheirLength) {
  EXPECT_EQ(duration_text(std::chrono::milliseconds{20'000}), "20 s");
  EXPECT_EQ(duration_text(std::chrono::milliseconds{19'999}), "20 s")
      << "limits are measured a little late";
  EXPECT_EQ(duration_text(std::chrono::milliseconds{1500}), "1.5 s");
  EXPECT_EQ(duration_text(std::chrono::milliseconds{250}), "0.25 s");
  EXPECT_EQ(duration_text(std::chrono::milliseconds{0}), "0 s");
  EXPECT_EQ(duration_text(std::chrono::milliseconds{190'000}), "3m10s");
  EXPECT_EQ(duration_text(std::chrono::milliseconds{3'720'000}), "1h02m");
}

}  // namespace
}  // namespace warpsmith
