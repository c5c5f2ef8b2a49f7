// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/ratio_statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/policy/learn/golden.hpp"

namespace warpsmith::policy {
namespace {

constexpr double ratio_tolerance = 1e-5;  // samples are kept as float32

std::vector<TokenSample> golden_samples() {
  const auto& g = golden()["statistics"];
  std::vector<TokenSample> samples;
  for (size_t i = 0; i < g["lag"].size(); ++i) {
    samples.push_back({.log_prob = g["tokens"]["log_prob"][i],
                       .behaviour = g["tokens"]["behaviour"][i],
                       .proximal = g["tokens"]["proximal"][i],
                       .entropy = g["tokens"]["entropy"][i],
                       .value = g["value"][i],
                       .target = g["target"][i],
                       .lag = g["lag"][i],
                       .clipped = g["clipped"][i] == 1,
                       .stale = g["tokens"]["trainable"][i] == 0.0,
                       .same_weights = g["same_weights"][i] == 1});
  }
  return samples;
}

TEST(RatioStatisticsTest, MatchesNumpyReference) {
  const RatioStatistics got = ratio_statistics(golden_samples());
  const auto& want = golden()["statistics"]["expect"];
  for (size_t i = 0; i < ratio_levels.size(); ++i) {
    EXPECT_NEAR(got.ratio_quantiles[i], want["quantiles"][i], ratio_tolerance * 10);
  }
  EXPECT_NEAR(got.effective_sample_size, want["ess"], ratio_tolerance);
  EXPECT_NEAR(got.k3, want["k3"], ratio_tolerance);
  EXPECT_NEAR(got.proximal_k3, want["proximal_k3"], ratio_tolerance);
  EXPECT_NEAR(got.clip_fraction, want["clip_fraction"], ratio_tolerance);
  EXPECT_NEAR(got.mismatch_mean, want["mismatch_mean"], ratio_tolerance);
  EXPECT_NEAR(got.mismatch_max, want["mismatch_max"], ratio_tolerance);
  EXPECT_NEAR(got.entropy, want["entropy"], ratio_tolerance);
  EXPECT_NEAR(got.explained_variance, want["explained_variance"], ratio_tolerance);
  EXPECT_NEAR(got.value_error, want["value_error"], ratio_tolerance);
  EXPECT_NEAR(got.mean_lag, want["mean_lag"], ratio_tolerance);
  for (uint32_t age = 0; age < 4; ++age) {
    EXPECT_NEAR(got.by_age.at(age).clip_fraction(), want["clip_by_age"][age], ratio_tolerance);
  }
}

TEST(RatioStatisticsTest, EmptyStepGivesZeros) {
  const RatioStatistics got = ratio_statistics({});
  EXPECT_EQ(got.tokens, 0);
  EXPECT_EQ(got.effective_sample_size, 0.0);
  EXPECT_EQ(got.explained_variance, 0.0);
}

TEST(RatioStatisticsTest, EqualPoliciesHaveFullSampleSizeAndNoDivergence) {
  const std::vector<TokenSample> same(9, {.log_prob = -1, .behaviour = -1, .proximal = -1});
  const RatioStatistics got = ratio_statistics(same);
  EXPECT_DOUBLE_EQ(got.effective_sample_size, 1.0);
  EXPECT_DOUBLE_EQ(got.k3, 0.0);
  EXPECT_DOUBLE_EQ(got.ratio_quantiles.front(), 1.0);
}

TEST(RatioStatisticsTest, UnlikelyTokensHaveARatioOfTheirOwn) {
  std::vector<TokenSample> samples(50, {.log_prob = 0, .behaviour = -2});  // μ = 0.14: not unlikely
  EXPECT_EQ(ratio_statistics(samples).unlikely_ratio, 0);
  samples.push_back({.log_prob = -5, .behaviour = -4});  // either way counts
  EXPECT_NEAR(ratio_statistics(samples).unlikely_ratio, std::exp(1.0), 1e-6);
  samples.push_back({.log_prob = 0, .behaviour = -9, .stale = true});
  EXPECT_NEAR(ratio_statistics(samples).unlikely_ratio, std::exp(1.0), 1e-6);
}

TEST(RatioStatisticsTest, StaleTokensAreCountedAndLeftOutOfRatios) {
  std::vector<TokenSample> samples(3, {.log_prob = -1, .behaviour = -1, .proximal = -1});
  samples[1] = {.log_prob = 0, .behaviour = -9, .proximal = -1, .lag = 7, .stale = true};
  const RatioStatistics got = ratio_statistics(samples);
  EXPECT_EQ(got.stale_tokens, 1);
  EXPECT_DOUBLE_EQ(got.ratio_quantiles.back(), 1.0);
  EXPECT_EQ(got.by_age.at(7).tokens, 1);
}

}  // namespace
}  // namespace warpsmith::policy
