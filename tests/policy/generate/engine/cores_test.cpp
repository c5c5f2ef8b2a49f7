// SPDX-License-Identifier: Apache-2.0
// Block pool, prefix tree, scheduler and sampling parameters.
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <numeric>

#include "policy/generate/engine/block_pool.hpp"
#include "policy/generate/engine/prefix_tree.hpp"
#include "policy/generate/engine/sampling.hpp"
#include "policy/generate/engine/scheduler.hpp"
#include "runtime/random_stream.hpp"

namespace warpsmith::policy {
namespace {

std::vector<int32_t> counting(int32_t first, size_t count) {
  std::vector<int32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

std::vector<BlockId> match(PrefixTree& tree, const std::vector<int32_t>& tokens) {
  PrefixTree::Path path;
  return tree.match(tokens, path);
}

void insert(PrefixTree& tree, const std::vector<int32_t>& tokens, std::vector<BlockId>& blocks) {
  PrefixTree::Path path;
  tree.insert(tokens, blocks, path);
}

TEST(BlockPoolTest, BlockIsFreeWhenItsLastReferenceIsDropped) {
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
  std::vector<BlockId> blocks{*pool.take(), *pool.take()};
  const auto tokens = counting(0, 32);
  insert(tree, tokens, blocks);
  EXPECT_EQ(match(tree, tokens), (std::vector<BlockId>{blocks[0]}));
  EXPECT_EQ(match(tree, counting(0, 33)), blocks);
  EXPECT_TRUE(match(tree, counting(1, 33)).empty());
  EXPECT_TRUE(match(tree, counting(0, 16)).empty());
}

TEST(PrefixTreeTest, PathGoesOnFromWhereItEnds) {
  BlockPool pool(8);
  PrefixTree tree(pool);
  std::vector<BlockId> blocks{*pool.take(), *pool.take(), *pool.take()};
  const auto tokens = counting(0, 49);
  PrefixTree::Path leader;
  PrefixTree::Path follower;
  tree.insert(tokens, std::span(blocks).first(1), leader);
  EXPECT_EQ(tree.match(tokens, follower), (std::vector<BlockId>{blocks[0]}));
  EXPECT_TRUE(tree.match(tokens, follower).empty());
  tree.insert(tokens, blocks, leader);
  EXPECT_EQ(tree.match(tokens, follower), (std::vector<BlockId>{blocks[1], blocks[2]}));
  EXPECT_EQ(follower.blocks(), 3);
  EXPECT_EQ(follower.end(), leader.end());
}

TEST(PrefixTreeTest, KnownBlockReplacesAnEqualOne) {
  BlockPool pool(8);
  PrefixTree tree(pool);
  std::vector<BlockId> known{*pool.take()};
  std::vector<BlockId> equal{*pool.take()};
  const BlockId own = equal[0];
  insert(tree, counting(0, 16), known);
  insert(tree, counting(0, 16), equal);
  EXPECT_EQ(equal, known);
  EXPECT_EQ(pool.holders(own), 0);
  EXPECT_EQ(pool.holders(known[0]), 3);
}

TEST(PrefixTreeTest, EqualBlocksUnderDifferentParentsAreDifferent) {
  BlockPool pool(8);
  PrefixTree tree(pool);
  const std::vector<int32_t> zeros(48, 0);
  std::vector<BlockId> blocks{*pool.take(), *pool.take(), *pool.take()};
  insert(tree, zeros, blocks);
  EXPECT_EQ(tree.size(), 3U);
  EXPECT_EQ(match(tree, std::vector<int32_t>(49, 0)), blocks);
}

TEST(PrefixTreeTest, EvictsTheLeastRecentlyUsedFreeLeaf) {
  BlockPool pool(4);
  PrefixTree tree(pool);
  std::vector<BlockId> first{*pool.take(), *pool.take()};
  std::vector<BlockId> second{*pool.take()};
  insert(tree, counting(0, 32), first);
  insert(tree, counting(100, 16), second);
  for (const BlockId block : first) pool.drop(block);
  EXPECT_TRUE(tree.evict_one());
  EXPECT_EQ(pool.holders(first[1]), 0) << "the leaf is evicted before its parent";
  EXPECT_TRUE(tree.evict_one());
  EXPECT_EQ(pool.holders(first[0]), 0);
  EXPECT_FALSE(tree.evict_one()) << "the other entry is still referenced";
}

// A scan of all entries per eviction takes minutes here.
TEST(PrefixTreeTest, CostOfAnEvictionDoesNotGrowWithTheTree) {
  constexpr int32_t entries = 100'000;
  BlockPool pool(entries);
  PrefixTree tree(pool);
  for (int32_t i = 0; i < entries; ++i) {
    std::vector<BlockId> blocks{*pool.take()};
    insert(tree, counting(i, 16), blocks);
    pool.drop(blocks[0]);
  }
  const std::clock_t before = std::clock();
  for (int32_t i = 0; i < entries; ++i) ASSERT_TRUE(tree.evict_one());
  EXPECT_LT(std::clock() - before, 5 * CLOCKS_PER_SEC) << "processor time";
  EXPECT_EQ(pool.free_blocks(), entries);
}

TEST(PrefixTreeTest, RandomUseLeaksNoBlock) {
  BlockPool pool(40);
  RandomStream random(1, "prefix tree");
  {
    PrefixTree tree(pool);
    for (int i = 0; i < 2'000; ++i) {
      const auto tokens =
          counting(static_cast<int32_t>(random.below(4)), 16 * (1 + random.below(3)));
      PrefixTree::Path path;
      std::vector<BlockId> blocks = tree.match(tokens, path);
      while (blocks.size() < tokens.size() / 16) {
        const auto block = pool.take();
        if (block) {
          blocks.push_back(*block);
        } else {
          ASSERT_TRUE(tree.evict_one());
        }
      }
      tree.insert(tokens, blocks, path);
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

TEST(PlanStepTest, AtLeastOneSequenceAdvances) {
  const std::vector<PendingSequence> sequences{{1, 1, 20}};
  EXPECT_EQ(plan_step(sequences, 0).at(0).count, 1);
}

TEST(PlanStepTest, AtMostTheGivenNumberOfSequencesAdvances) {
  const std::vector<PendingSequence> sequences{{1, 1, 20}, {2, 2, 1}, {3, 3, 1}, {4, 4, 1}};
  const auto plan = plan_step(sequences, 30, 2);
  ASSERT_EQ(plan.size(), 2U);
  EXPECT_EQ(plan[0].session, 2U);
  EXPECT_EQ(plan[1].session, 3U);
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
