// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/wrong_elements.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace warpsmith::sandbox {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

double reference_at(uint64_t index) {
  return std::sin(static_cast<double>(index) + 1) * 3;
}

/// An output "y" of rows and columns in which the elements that `got` changes are wrong.
WrongOutput output(int64_t rows, int64_t columns, const std::function<double(uint64_t)>& got) {
  const auto m = static_cast<uint64_t>(rows), n = static_cast<uint64_t>(columns);
  WrongOutput out{.name = "y", .shape = {rows, columns}, .wrong = std::vector<bool>(m * n)};
  for (uint64_t i = 0; i < m * n; ++i) {
    const double value = got(i), expected = reference_at(i);
    if (value == expected) continue;
    out.wrong[i] = true;
    out.examples.push_back({i, value, expected, false, reference_at(i % m * n + i / m)});
  }
  return out;
}

/// The text for an output with wrong elements where `is_wrong` says so, with arbitrary values.
std::string text_for(int64_t rows, int64_t columns, const std::function<bool(uint64_t)>& is_wrong) {
  const WrongOutput wrong = output(rows, columns, [&](uint64_t i) {
    return is_wrong(i) ? reference_at(i) + std::cos(static_cast<double>(i * i)) : reference_at(i);
  });
  return likely_cause(wrong).text;
}

TEST(WrongElementsTest, LastRowsAreNamed) {
  EXPECT_EQ(text_for(8, 16, [](uint64_t i) { return i >= 80; }),
            "the last 3 of 8 rows are not written or not computed");
}

TEST(WrongElementsTest, LastRowsAreNamedAlsoWhereSomeOfTheirElementsAreRightByChance) {
  EXPECT_EQ(text_for(8, 16, [](uint64_t i) { return i >= 80 && i % 3 != 1; }),
            "the last 3 of 8 rows are not written or not computed");
}

TEST(WrongElementsTest, FirstRowsAreNamed) {
  EXPECT_EQ(text_for(8, 16, [](uint64_t i) { return i < 32; }), "the first 2 of 8 rows are wrong");
}

TEST(WrongElementsTest, OnlyTheFirstBlockIsRight) {
  EXPECT_EQ(text_for(8, 64, [](uint64_t i) { return i >= 128; }),
            "only the first block is right: 128 of 512 elements");
}

TEST(WrongElementsTest, LastColumnsAreTheRestOfALoop) {
  EXPECT_EQ(text_for(8, 19, [](uint64_t i) { return i % 19 >= 16; }),
            "the last 3 of 19 columns are wrong: the rest of a vector loop");
  EXPECT_EQ(text_for(8, 19, [](uint64_t i) { return i % 19 < 2; }),
            "the first 2 of 19 columns are wrong");
}

TEST(WrongElementsTest, EverySecondElementAndWholeRowsAreNamed) {
  EXPECT_EQ(text_for(8, 16, [](uint64_t i) { return i % 2 == 1; }),
            "only every 2. element is wrong");
  EXPECT_EQ(text_for(8, 16, [](uint64_t i) { return i / 16 == 1 || i / 16 == 4; }),
            "2 of 8 rows are wrong, each as a whole");
}

TEST(WrongElementsTest, AFewRightElementsAtTheStartAreNoBlock) {
  EXPECT_EQ(text_for(16, 16, [](uint64_t i) { return i > 6 && i * i % 5 == 1; }), "");
}

TEST(WrongElementsTest, ScatteredAndFewElementsHaveNoPattern) {
  EXPECT_EQ(text_for(8, 16, [](uint64_t i) { return i * i % 11 == 3; }), "");
  EXPECT_EQ(text_for(8, 16, [](uint64_t i) { return i >= 126; }), "");
}

TEST(WrongElementsTest, AConstantFactorHasItsNumberApart) {
  const LikelyCause cause =
      likely_cause(output(8, 16, [](uint64_t i) { return reference_at(i) * 0.5; }));
  EXPECT_EQ(cause.text, "all are off by one constant factor");
  EXPECT_NEAR(cause.number.value(), 0.5, 1e-9);
  EXPECT_EQ(likely_cause(output(8, 16, [](uint64_t i) { return -reference_at(i); })).text,
            "the sign is wrong");
}

TEST(WrongElementsTest, AConstantOffsetHasItsNumberApart) {
  const LikelyCause cause =
      likely_cause(output(8, 16, [](uint64_t i) { return reference_at(i) + 0.25; }));
  EXPECT_EQ(cause.text, "all are off by one constant offset");
  EXPECT_NEAR(cause.number.value(), 0.25, 1e-9);
}

TEST(WrongElementsTest, AnyConstantFitsAConstantOutputSoNoneIsNamed) {
  WrongOutput constant = output(4, 4, [](uint64_t i) { return reference_at(i) + 1; });
  for (WrongElement& one : constant.examples) one.got = 1, one.expected = 2, one.exchanged = 2;
  EXPECT_EQ(likely_cause(constant).text, "");
}

TEST(WrongElementsTest, ATransposedOutputIsNamed) {
  const auto transposed = [](uint64_t m, uint64_t n) {
    return [m, n](uint64_t i) { return reference_at(i % m * n + i / m); };
  };
  EXPECT_EQ(likely_cause(output(8, 8, transposed(8, 8))).text,
            "the output is transposed in its last two axes");
  EXPECT_EQ(likely_cause(output(6, 10, transposed(6, 10))).text,
            "the output is transposed in its last two axes");
}

TEST(WrongElementsTest, ZerosAndLowerPrecisionAreNamed) {
  EXPECT_EQ(likely_cause(output(8, 16, [](uint64_t) { return 0.0; })).text,
            "the wrong elements are zero");
  const auto rounded = [](uint64_t i) { return std::round(reference_at(i) * 4096) / 4096 + 1e-5; };
  EXPECT_EQ(likely_cause(output(2, 4, rounded)).text,
            "all are close: lower precision, or a less exact formula");
}

TEST(WrongElementsTest, PlaceAndValuesTogether) {
  const auto got = [](uint64_t i) { return i < 80 ? reference_at(i) : 0.0; };
  EXPECT_EQ(likely_cause(output(8, 16, got)).text,
            "the last 3 of 8 rows are not written or not computed; the wrong elements are zero");
}

TEST(WrongElementsTest, WhatWasNotWrittenHasNoValue) {
  WrongOutput nothing = output(8, 16, [](uint64_t) { return 0.0; });
  for (WrongElement& one : nothing.examples) one.unwritten = true;
  nothing.nonfinite.unwritten = 128;
  EXPECT_EQ(likely_cause(nothing).text, "nothing was written");
  WrongOutput rows = output(8, 16, [](uint64_t i) { return i < 96 ? reference_at(i) : 0.0; });
  for (WrongElement& one : rows.examples) one.unwritten = true;
  rows.nonfinite.unwritten = 32;
  EXPECT_EQ(likely_cause(rows).text, "the last 2 of 8 rows are not written or not computed");
}

TEST(WrongElementsTest, NonfiniteElementsHaveNoFactor) {
  EXPECT_EQ(likely_cause(output(8, 16, [](uint64_t) { return inf; })).text, "");
}

TEST(WrongElementsTest, AnElementIsNamedByItsPlaceInEachAxis) {
  EXPECT_EQ(element_name("y", {2, 3, 4}, 17), "y[1, 1, 1]");
  EXPECT_EQ(element_name("y", {5}, 4), "y[4]");
  EXPECT_EQ(element_name("y", {}, 0), "y");
}

TEST(WrongElementsTest, CountsOfNonfiniteElementsAreSplit) {
  EXPECT_EQ(counts_text({.unwritten = 12, .not_a_number = 3}), "12 not written, 3 not a number");
  EXPECT_EQ(counts_text({.infinite = 1, .finite = 2}),
            "1 wrongly infinite, 2 finite where the reference is not");
  EXPECT_EQ(counts_text({}), "");
}

TEST(WrongElementsTest, AReportCountsAllOutputsAndNamesTheFirstWrongElement) {
  WrongOutput a = output(8, 16, [](uint64_t i) { return i < 80 ? reference_at(i) : 0.0; });
  WrongOutput b = output(2, 4, [](uint64_t i) { return reference_at(i) + 1; });
  b.nonfinite.infinite = 1;
  const WrongReport report = report_on({a, b}, 56, 500);
  EXPECT_EQ(report.element, "y[5, 0]");
  EXPECT_EQ(report.wrong, 48U + 8U);
  EXPECT_EQ(report.elements, 500U);
  EXPECT_EQ(report.nonfinite.infinite, 1U);
  EXPECT_EQ(report.got, 0);
  EXPECT_EQ(report.expected, reference_at(80));
}

TEST(WrongElementsTest, AnOutputOfWhichOnlyTheFirstElementsWereReadHasNoPlace) {
  WrongOutput part = output(8, 16, [](uint64_t i) { return i < 80 ? reference_at(i) : 0.0; });
  part.shape = {800, 16};
  EXPECT_EQ(likely_cause(part).text, "the wrong elements are zero");
  const WrongReport report = report_on({part}, 12'000, 12'800);
  EXPECT_TRUE(report.partial);
  EXPECT_EQ(report.wrong, 12'000U);
}

}  // namespace
}  // namespace warpsmith::sandbox
