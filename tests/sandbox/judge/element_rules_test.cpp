// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "sandbox/judge/element_bound.hpp"
#include "sandbox/judge/element_values.hpp"

namespace warpsmith::sandbox {
namespace {

float bfloat_to_float(uint16_t bits) {
  return static_cast<float>(as_double(BfloatBits{bits}));
}

/// Checks every finite positive pattern of a format and infinity; `to` and `from` convert.
template <class To, class From>
void expect_rounding(uint16_t infinity, To to, From from) {
  for (uint16_t bits = 0; bits < infinity; ++bits) {
    const auto next = static_cast<uint16_t>(bits + 1);
    ASSERT_EQ(from(to(bits)), bits);
    ASSERT_EQ(from(-to(bits)), bits | 0x8000U);
    if (next == infinity) return;
    const float middle = static_cast<float>((double{to(bits)} + double{to(next)}) / 2);
    const uint16_t even = bits % 2 == 0 ? bits : next;
    ASSERT_EQ(from(middle), even) << bits;
    ASSERT_EQ(from(std::nextafter(middle, 0.0F)), bits) << bits;
    ASSERT_EQ(from(std::nextafter(middle, HUGE_VALF)), next) << bits;
  }
}

TEST(ElementTypesTest, HalvesRoundToNearestEven) {
  expect_rounding(0x7C00, half_to_float, float_to_half);
  EXPECT_EQ(float_to_half(65519.0F), 0x7BFF);
  EXPECT_EQ(float_to_half(65520.0F), 0x7C00);
  EXPECT_EQ(float_to_half(-std::numeric_limits<float>::max()), 0xFC00);
  EXPECT_EQ(float_to_half(0x1p-25F), 0);
}

TEST(ElementTypesTest, BfloatsRoundToNearestEven) {
  // Below 2^-118 a float32 between two neighbours has too few bits to differ from them.
  for (const float scale : {1.0F, 0x1p-100F, 0x1p100F}) {
    const float middle = scale * (1.0F + 0x1p-8F);
    const uint16_t low = float_to_bfloat(scale);
    EXPECT_EQ(bfloat_to_float(low), scale);
    EXPECT_EQ(float_to_bfloat(middle), low) << "ties go to the even one";
    EXPECT_EQ(float_to_bfloat(std::nextafter(middle, HUGE_VALF)), low + 1);
    EXPECT_EQ(float_to_bfloat(-middle - scale * 0x1p-7F), (low + 2) | 0x8000);
  }
  for (uint32_t bits = 0; bits <= 0x7F80; ++bits) {
    ASSERT_EQ(float_to_bfloat(bfloat_to_float(static_cast<uint16_t>(bits))), bits);
  }
}

TEST(ElementTypesTest, NanStaysNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(half_to_float(float_to_half(nan))));
  EXPECT_TRUE(std::isnan(bfloat_to_float(float_to_bfloat(nan))));
  EXPECT_TRUE(std::isnan(bfloat_to_float(float_to_bfloat(std::bit_cast<float>(0x7F800001U)))));
  EXPECT_TRUE(std::isinf(half_to_float(float_to_half(HUGE_VALF))));
  EXPECT_TRUE(std::isinf(bfloat_to_float(float_to_bfloat(-HUGE_VALF))));
}

TEST(ElementBoundTest, TheWorstIsInfiniteWhereTheBoundIsZero) {
  ErrorStats stats;
  judge_element(6, 5, 0, scale_of(Dtype::i64, {}), stats);
  EXPECT_EQ(stats.worst, HUGE_VAL);
  judge_element(7, 5, 1, scale_of(Dtype::i64, {}), stats);
  EXPECT_EQ(stats.worst, HUGE_VAL);
  EXPECT_EQ(stats.wrong, 1U);
}

TEST(ElementBoundTest, AnUndecidedProfileStaysUndecided) {
  EXPECT_EQ(raised(1, 2), 2);
  EXPECT_EQ(raised(2, 1), 2);
  EXPECT_TRUE(std::isnan(raised(1, NAN)));
  EXPECT_TRUE(std::isnan(raised(NAN, 1)));
  EXPECT_EQ(profile_spread(NAN), HUGE_VAL);
}

TEST(ElementValuesTest, HugeElementsStayInTheirRows) {
  for (const uint64_t length : {2ULL, 3ULL, 1ULL << 33U}) {
    EXPECT_EQ(place_of_huge(7, 0, length), 0U);
    EXPECT_EQ(place_of_huge(7, 1U << 30U, length), length - 1);
    EXPECT_EQ(place_of_huge(0, 1U << 31U, length), 0U);
    EXPECT_LT(place_of_huge(0xFFFFFFFFU, 1U << 31U, length), length);
  }
}

}  // namespace
}  // namespace warpsmith::sandbox
