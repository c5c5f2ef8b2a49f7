// SPDX-License-Identifier: Apache-2.0
#include "sandbox/judge/numerics.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace warpsmith::sandbox {
namespace {

constexpr double u = 0x1.0p-24;
constexpr BoundRule rule{.c = 8};

template <class T>
ErrorStats judged(Dtype dtype, const std::vector<T>& y, const std::vector<double>& expected,
                  const std::vector<float>& spread) {
  return compare(dtype, std::as_bytes(std::span{y}), {expected, spread}, rule);
}

TEST(NumericsTest, AcceptsRoundingAndRejectsLowerPrecision) {
  const std::vector<double> expected{1.0, -3.0};
  const std::vector<float> none{0, 0};
  EXPECT_TRUE(judged<float>(Dtype::f32, {1.0F + 1e-7F, -3.0F}, expected, none).right());
  const ErrorStats stats = judged<float>(Dtype::f32, {1.0F + 0x1p-9F, -3.0F}, expected, none);
  EXPECT_EQ(stats.wrong, 1U);
  EXPECT_GT(stats.worst, 100);
}

TEST(NumericsTest, BoundFollowsTheSpread) {
  const std::vector<double> expected{1e-6};
  const auto y = static_cast<float>(1e-6 + 7.9 * 1e-4);
  EXPECT_TRUE(judged<float>(Dtype::f32, {y}, expected, {1e-4F}).right());
  EXPECT_FALSE(judged<float>(Dtype::f32, {y}, expected, {0.9e-4F}).right());
}

TEST(NumericsTest, NanNeverPasses) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const float y : {nan, inf, -inf}) {
    const ErrorStats stats = judged<float>(Dtype::f32, {y}, {1.0}, {inf});
    EXPECT_EQ(stats.nonfinite, 1U);
    EXPECT_FALSE(stats.right());
  }
}

TEST(NumericsTest, NonFinitePositionsMustMatchExactly) {
  const double inf = std::numeric_limits<double>::infinity();
  const auto f = [](double v) { return static_cast<float>(v); };
  EXPECT_TRUE(judged<float>(Dtype::f32, {f(inf), f(NAN)}, {inf, NAN}, {0, 0}).right());
  EXPECT_FALSE(judged<float>(Dtype::f32, {f(-inf)}, {inf}, {0}).right());
  EXPECT_FALSE(judged<float>(Dtype::f32, {1.0F}, {NAN}, {0}).right());
  EXPECT_FALSE(judged<float>(Dtype::f32, {1.0F}, {-inf}, {0}).right());
  EXPECT_EQ(judged<float>(Dtype::f32, {f(inf)}, {inf}, {0}).undefined, 0U);
  EXPECT_EQ(judged<float>(Dtype::f32, {f(NAN)}, {NAN}, {0}).undefined, 1U);
}

TEST(NumericsTest, CountsElementsWithoutAFiniteDeviation) {
  const float inf = std::numeric_limits<float>::infinity();
  const ErrorStats stats = judged<float>(Dtype::f32, {7, 7, 1}, {1, 1, 1}, {inf, NAN, 0});
  EXPECT_TRUE(stats.right());
  EXPECT_EQ(stats.undecided, 2U);
}

TEST(NumericsTest, IntegersAreExactWhereRoundingDecidesNothing) {
  EXPECT_TRUE(judged<int64_t>(Dtype::i64, {5, -7}, {5, -7}, {0, 0}).right());
  EXPECT_FALSE(judged<int64_t>(Dtype::i64, {6, -7}, {5, -7}, {0, 0}).right());
  EXPECT_TRUE(judged<int64_t>(Dtype::i64, {6}, {5}, {0.5F}).right());
  EXPECT_FALSE(judged<uint8_t>(Dtype::boolean, {0xA5}, {1}, {0}).right());
}

TEST(NumericsTest, ReadsHalfPrecisions) {
  EXPECT_TRUE(
      judged<uint16_t>(Dtype::f16, {0x3C00, 0xC500, 0x0001}, {1, -5, 0x1p-24}, {0, 0, 0}).right());
  EXPECT_TRUE(judged<uint16_t>(Dtype::bf16, {0x3F80, 0xC0A0}, {1, -5}, {0, 0}).right());
  EXPECT_EQ(judged<uint16_t>(Dtype::f16, {0x7E00}, {1}, {0}).nonfinite, 1U);
}

TEST(NumericsTest, NeighboursLiftADeviationThatVanishedByChance) {
  std::vector<float> spread(8, 1e-3F);
  spread[3] = 0;
  std::vector<double> expected(8, 0.0);
  std::vector<float> y(8, 0.0F);
  y[3] = 2e-3F;
  EXPECT_TRUE(judged<float>(Dtype::f32, y, expected, spread).right());
  EXPECT_FALSE(judged<float>(Dtype::f32, {2e-3F}, {0.0}, {0}).right());
}

TEST(NumericsTest, TimedOutputsAreComparedByTheProfile) {
  const std::vector<float> baseline(100, 2.0F);
  std::vector<float> y = baseline;
  const std::vector<float> profile{1e-6F, 1e-2F};
  const auto check = [&] {
    return compare_with_baseline(Dtype::f32, std::as_bytes(std::span{y}),
                                 std::as_bytes(std::span{baseline}), profile, rule);
  };
  y[70] += 1e-2F;
  EXPECT_TRUE(check().right());
  y[10] += 1e-2F;
  EXPECT_EQ(check().wrong, 1U);
}

TEST(NumericsTest, FewerEvaluationsHaveALargerConstant) {
  EXPECT_EQ(bound_for(8).c, 8);
  EXPECT_GT(bound_for(4).c, bound_for(8).c);
  EXPECT_GT(bound_for(3).c, bound_for(4).c);
  EXPECT_EQ(bound_for(8).u, u);
}

ErrorStats judged_as_published(Dtype dtype, double expected, float y) {
  const std::vector<double> reference{expected};
  const std::vector<float> spread{std::numeric_limits<float>::infinity()}, output{y};
  const std::vector<int32_t> whole{static_cast<int32_t>(std::isfinite(y) ? y : 0)};
  const auto bytes =
      dtype == Dtype::f32 ? std::as_bytes(std::span{output}) : std::as_bytes(std::span{whole});
  return compare(dtype, bytes, {reference, spread}, bound_for(Numerics::paper, 4));
}

TEST(NumericsTest, PaperAllowsOneHundredthAbsoluteAndRelativeWhateverTheSpread) {
  EXPECT_TRUE(judged_as_published(Dtype::f32, 0, 0.0099F).right());
  EXPECT_FALSE(judged_as_published(Dtype::f32, 0, 0.0101F).right());
  EXPECT_TRUE(judged_as_published(Dtype::f32, -100, -101.0F).right());
  EXPECT_FALSE(judged_as_published(Dtype::f32, -100, -101.02F).right());
  EXPECT_TRUE(judged_as_published(Dtype::i32, 1000, 1010).right());
  EXPECT_FALSE(judged_as_published(Dtype::i32, 3, 4).right());
  EXPECT_NEAR(judged_as_published(Dtype::f32, 1, 1.01F).worst, 0.5, 1e-6);
}

TEST(NumericsTest, PaperRejectsNan) {
  for (const float y : {std::numeric_limits<float>::quiet_NaN(), HUGE_VALF}) {
    EXPECT_EQ(judged_as_published(Dtype::f32, 1, y).nonfinite, 1U);
  }
}

TEST(NumericsTest, StrictIsTheRuleOfTheEvaluations) {
  EXPECT_EQ(bound_for(Numerics::strict, 4).c, bound_for(4).c);
  EXPECT_EQ(bound_for(Numerics::strict, 4).tolerance, 0);
}

}  // namespace
}  // namespace warpsmith::sandbox
