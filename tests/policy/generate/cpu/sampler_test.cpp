// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cpu/sampler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace warpsmith::policy {
namespace {

class SamplerTest : public testing::Test {
 protected:
  std::vector<float> logits_{0.0F, 2.0F, -1.0F, 1.0F, 2.0F};

  double log_prob(size_t token, double temperature) const {
    double total = 0;
    for (const float logit : logits_) total += std::exp(logit / temperature);
    return logits_[token] / temperature - std::log(total);
  }
  std::vector<int> histogram(const SamplingParams& params, int draws) const {
    std::vector<int> counts(logits_.size());
    for (int i = 0; i < draws; ++i) {
      const auto sampled = sample_token(logits_, params, (i + 0.5) / draws);
      ++counts[static_cast<size_t>(sampled.token)];
    }
    return counts;
  }
};

TEST_F(SamplerTest, GreedyTakesTheFirstOfTheLargest) {
  const auto sampled = sample_token(logits_, {.temperature = 0}, 0.99);
  EXPECT_EQ(sampled.token, 1);
  EXPECT_NEAR(sampled.log_prob, log_prob(1, 1.0), 1e-6);
}

TEST_F(SamplerTest, FrequenciesAreTheSoftmaxAtTheTemperature) {
  for (const double temperature : {0.5, 1.0, 3.0}) {
    const auto counts = histogram({.temperature = temperature}, 100'000);
    for (size_t i = 0; i < counts.size(); ++i) {
      EXPECT_NEAR(counts[i] / 1e5, std::exp(log_prob(i, temperature)), 2e-5);
    }
  }
}

TEST_F(SamplerTest, TopKKeepsTheLikeliestAndTheFullLogProb) {
  const auto counts = histogram({.top_k = 3}, 10'000);
  EXPECT_EQ(counts[0], 0);
  EXPECT_EQ(counts[2], 0);
  EXPECT_NEAR(counts[3] / 1e4, 1 / (1 + 2 * std::exp(1.0)), 2e-4);
  EXPECT_NEAR(sample_token(logits_, {.top_k = 1}, 0.5).log_prob, log_prob(1, 1.0), 1e-6);
}

TEST_F(SamplerTest, TopPKeepsTheSmallestSetThatReachesIt) {
  const double two = 2 * std::exp(log_prob(1, 1.0));
  const auto counts = histogram({.top_p = two - 0.01}, 1'000);
  EXPECT_EQ(counts, (std::vector<int>{0, 500, 0, 0, 500}));
  EXPECT_GT(histogram({.top_p = two + 0.01}, 1'000)[3], 0);
}

TEST_F(SamplerTest, SampledLogProbIsThatOfTheTruncatedDistribution) {
  const auto kept_two = sample_token(logits_, {.top_k = 2}, 0.9);
  EXPECT_EQ(kept_two.token, 4);
  EXPECT_NEAR(kept_two.sampled_log_prob, std::log(0.5), 1e-6);
  EXPECT_NEAR(kept_two.log_prob, log_prob(4, 1.0), 1e-6);
  const auto warm = sample_token(logits_, {.temperature = 0.5}, 0.9);
  EXPECT_EQ(warm.sampled_log_prob, warm.log_prob);
  EXPECT_EQ(sample_token(logits_, {.temperature = 0}, 0.9).sampled_log_prob, 0);
}

TEST_F(SamplerTest, HugeLogitsStayFinite) {
  const std::vector<float> logits{-30'000.0F, 30'000.0F, 29'999.0F};
  const auto sampled = sample_token(logits, {}, 0.9);
  EXPECT_EQ(sampled.token, 2);
  EXPECT_NEAR(sampled.log_prob, -1.0 - std::log1p(std::exp(-1.0)), 1e-5);
}

}  // namespace
}  // namespace warpsmith::policy
