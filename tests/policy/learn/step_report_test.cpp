// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "policy/learn/step_report.hpp"
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
  EXPECT_NEAR(got.lag_mean, want["mean_lag"], ratio_tolerance);
  for (uint32_t age = 0; age < 4; ++age) {
    EXPECT_NEAR(got.by_age.at(age).clip_fraction(), want["clip_by_age"][age], ratio_tolerance);
  }
}

TEST(RatioStatisticsTest, AnEmptyStepHasOnlyZeros) {
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

TEST(RatioStatisticsTest, UnlikelyTokensHaveASeparateRatio) {
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

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

StepReport healthy() {
  StepReport report;
  report.tokens.entropy = 0.5;
  report.tokens.explained_variance = 0.3;
  report.tokens.unlikely_ratio = 2;
  report.outcomes.truncated = 0.1;
  return report;
}

/// Gets healthy steps until every sign can be judged.
EarlyWarnings settled(const WarningsConfig& config = {}) {
  EarlyWarnings watch{config};
  for (int i = 0; i < 10; ++i) EXPECT_THAT(watch.observe(healthy()), IsEmpty());
  return watch;
}

/// The warnings after `steps` steps in a row like `report`.
std::vector<Warning> after(int steps, const StepReport& report, const WarningsConfig& config = {}) {
  EarlyWarnings watch = settled(config);
  std::vector<Warning> in_force;
  for (int i = 0; i < steps; ++i) in_force = watch.observe(report);
  return in_force;
}

TEST(EarlyWarningsTest, ASignMustLastForPatienceSteps) {
  StepReport report = healthy();
  report.tokens.entropy = 0.2;
  EXPECT_THAT(after(2, report), IsEmpty());
  EXPECT_THAT(after(3, report), ElementsAre(Warning::entropy_falls));
}

TEST(EarlyWarningsTest, EachSignHasItsWarning) {
  StepReport report = healthy();
  report.tokens.entropy = 0.9;
  EXPECT_THAT(after(3, report), ElementsAre(Warning::entropy_rises));
  report = healthy();
  report.tokens.explained_variance = -0.1;
  EXPECT_THAT(after(3, report), ElementsAre(Warning::critic_is_no_help));
  report = healthy();
  report.outcomes.truncated = 0.6;
  EXPECT_THAT(after(3, report), ElementsAre(Warning::answers_are_cut));
  report = healthy();
  report.tokens.unlikely_ratio = 11;
  EXPECT_THAT(after(3, report), ElementsAre(Warning::unlikely_ratios));
}

TEST(EarlyWarningsTest, ALastingFallStaysAWarning) {
  StepReport report = healthy();
  report.tokens.entropy = 0.2;
  EXPECT_THAT(after(30, report), Contains(Warning::entropy_falls))
      << "the odd steps must not become the mean";
}

TEST(EarlyWarningsTest, AHealthyStepEndsAWarning) {
  EarlyWarnings watch = settled();
  StepReport report = healthy();
  report.outcomes.truncated = 0.9;
  for (int i = 0; i < 5; ++i) (void)watch.observe(report);
  EXPECT_THAT(watch.observe(healthy()), Not(Contains(Warning::answers_are_cut)));
}

TEST(EarlyWarningsTest, ANewCriticIsNotJudgedYet) {
  EarlyWarnings watch{WarningsConfig{}};
  StepReport report = healthy();
  report.tokens.explained_variance = -3;
  for (int i = 0; i < 8; ++i) EXPECT_THAT(watch.observe(report), IsEmpty());
}

TEST(EarlyWarningsTest, EachSignCanBeSwitchedOff) {
  WarningsConfig off;
  off.entropy_change = 0;
  off.explained_variance = -1000;
  off.truncated = 1;
  off.ratio = 0;
  StepReport report;
  report.tokens = {.unlikely_ratio = 1e9, .entropy = 0, .explained_variance = -9};
  report.outcomes.truncated = 1;
  EXPECT_THAT(after(5, report, off), IsEmpty());
}

}  // namespace

}  // namespace warpsmith::policy
