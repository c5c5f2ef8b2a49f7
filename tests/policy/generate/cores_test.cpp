// SPDX-License-Identifier: Apache-2.0
// The engine's pure parts: block counting, prefixes, planning, sampling.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "policy/generate/block_pool.hpp"
#include "policy/generate/prefix_tree.hpp"
#include "policy/generate/sampler.hpp"
#include "policy/generate/scheduler.hpp"
#include "runtime/random_stream.hpp"

namespace warpsmith::policy {
namespace {

std::vector<int32_t> counting(int32_t first, size_t count) {
  std::vector<int32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

TEST(BlockPoolTest, ABlockIsFreeWhenItsLastHolderDropsIt) {
  BlockPool pool(1);
  const BlockId block = pool.take().value();
  EXPECT_FALSE(pool.take());
  pool.share(block);
  pool.drop(block);
  EXPECT_EQ(pool.free_blocks(), 0);
  pool.drop(block);
  EXPECT_EQ(pool.free_blocks(), 1);
  EXPECT_THROW(pool.drop(block), std::logic_error);
  EXPECT_THROW(pool.share(block), std::logic_error);
}

TEST(PrefixTreeTest, MatchesWholeBlocksButNeverTheLastToken) {
  BlockPool pool(8);
  PrefixTree tree(pool);
  const std::vector<BlockId> blocks{*pool.take(), *pool.take()};
  const auto tokens = counting(0, 32);
  tree.insert(tokens, blocks);
  EXPECT_EQ(tree.match(tokens), (std::vector<BlockId>{blocks[0]}));
  EXPECT_EQ(tree.match(counting(0, 33)), blocks);
  EXPECT_TRUE(tree.match(counting(1, 33)).empty());
  EXPECT_TRUE(tree.match(counting(0, 16)).empty());
}

TEST(PrefixTreeTest, EqualBlocksUnderOtherParentsAreOthers) {
  BlockPool pool(8);
  PrefixTree tree(pool);
  const std::vector<int32_t> zeros(48, 0);
  const std::vector<BlockId> blocks{*pool.take(), *pool.take(), *pool.take()};
  tree.insert(zeros, blocks);
  EXPECT_EQ(tree.size(), 3U);
  EXPECT_EQ(tree.match(std::vector<int32_t>(49, 0)), blocks);
}

TEST(PrefixTreeTest, EvictsTheLeastRecentLeafThatNobodyHolds) {
  BlockPool pool(4);
  PrefixTree tree(pool);
  const std::vector<BlockId> first{*pool.take(), *pool.take()};
  const std::vector<BlockId> second{*pool.take()};
  tree.insert(counting(0, 32), first);
  tree.insert(counting(100, 16), second);
  for (const BlockId block : first) pool.drop(block);
  EXPECT_TRUE(tree.evict_one());
  EXPECT_EQ(pool.holders(first[1]), 0) << "the leaf goes before its parent";
  EXPECT_TRUE(tree.evict_one());
  EXPECT_EQ(pool.holders(first[0]), 0);
  EXPECT_FALSE(tree.evict_one()) << "the other entry is still held";
}

TEST(PrefixTreeTest, RandomUseLosesNoBlock) {
  BlockPool pool(40);
  RandomStream random(1, "prefix tree");
  {
    PrefixTree tree(pool);
    for (int i = 0; i < 2'000; ++i) {
      const auto tokens =
          counting(static_cast<int32_t>(random.below(4)), 16 * (1 + random.below(3)));
      std::vector<BlockId> blocks = tree.match(tokens);
      while (blocks.size() < tokens.size() / 16) {
        const auto block = pool.take();
        if (block) {
          blocks.push_back(*block);
        } else {
          ASSERT_TRUE(tree.evict_one());
        }
      }
      tree.insert(tokens, blocks);
      for (const BlockId block : blocks) pool.drop(block);
      if (random.below(50) == 0) tree.clear();
    }
  }
  EXPECT_EQ(pool.free_blocks(), 40);
}

TEST(PlanStepTest, DecodingGoesBeforePrefillAndTheLastPrefillIsCut) {
  const std::vector<PendingSequence> sequences{{1, 1, 20}, {2, 2, 1}, {3, 3, 30}, {4, 4, 1}};
  const auto plan = plan_step(sequences, 30);
  ASSERT_EQ(plan.size(), 4U);
  EXPECT_EQ(plan[0].session, 2U);
  EXPECT_EQ(plan[1].session, 4U);
  EXPECT_EQ(plan[2].session, 1U);
  EXPECT_EQ(plan[2].count, 20);
  EXPECT_EQ(plan[3].session, 3U);
  EXPECT_EQ(plan[3].count, 8);
}

TEST(PlanStepTest, SomethingAlwaysAdvances) {
  const std::vector<PendingSequence> sequences{{1, 1, 20}};
  EXPECT_EQ(plan_step(sequences, 0).at(0).count, 1);
}

TEST(PlanStepTest, NoMoreSequencesAdvanceThanTheBatchHolds) {
  const std::vector<PendingSequence> sequences{{1, 1, 20}, {2, 2, 1}, {3, 3, 1}, {4, 4, 1}};
  const auto plan = plan_step(sequences, 30, 2);
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_EQ(plan[0].session, 2U);
  EXPECT_EQ(plan[1].session, 3U);
}

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

TEST_F(SamplerTest, HugeLogitsStayFinite) {
  const std::vector<float> logits{-30'000.0F, 30'000.0F, 29'999.0F};
  const auto sampled = sample_token(logits, {}, 0.9);
  EXPECT_EQ(sampled.token, 2);
  EXPECT_NEAR(sampled.log_prob, -1.0 - std::log1p(std::exp(-1.0)), 1e-5);
}

TEST(SamplingParamsTest, ImpossibleValuesAreRefused) {
  EXPECT_FALSE(SamplingParams{.temperature = NAN}.validate());
  EXPECT_FALSE(SamplingParams{.top_p = 0}.validate());
  EXPECT_FALSE(SamplingParams{.top_k = -1}.validate());
  EXPECT_FALSE(SamplingParams{.max_tokens = 0}.validate());
  EXPECT_TRUE(SamplingParams{}.validate());
}

}  // namespace
}  // namespace warpsmith::policy
