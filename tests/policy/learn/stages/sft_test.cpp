// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/stages/sft.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/policy/learn/tiny_world.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::policy {
namespace {

namespace fs = std::filesystem;

/// "p, p, p + 1": prompt token p, then two action tokens.
std::vector<Conversation> lessons(size_t count) {
  std::vector<Conversation> all;
  for (size_t i = 0; i < count; ++i) {
    const auto p = static_cast<int32_t>(i % 7);
    all.push_back({{p, p, p + 1}, {0, 1, 1}});
  }
  return all;
}

SftConfig config() {
  SftConfig c;
  c.epochs = 2;
  c.batch_tokens = 48;
  c.context = 16;
  c.learning_rate = 3e-3;
  c.warmup = 4;
  c.held_out_share = 0.1;
  return c;
}

SftStage stage(uint64_t seed = 1) {
  auto made =
      SftStage::make(config(), Transformer{tiny_config(), tiny_weights(seed)}, lessons(280), 9);
  return std::move(made.value());
}

TEST(SftTest, HeldOutLossFalls) {
  SftStage learning = stage();
  const double before = *learning.held_out_loss();
  SftReport last;
  while (!learning.done()) last = learning.step();
  EXPECT_LT(*learning.held_out_loss(), 0.5 * before);
  EXPECT_EQ(last.step, last.steps);
  EXPECT_LT(last.loss, before);
}

TEST(SftTest, RestoredStageContinuesIdentically) {
  const test_support::TemporaryFolder temporary;
  const fs::path& folder = temporary.path();
  SftStage first = stage(1);
  for (int i = 0; i < 5; ++i) first.step();
  ASSERT_TRUE(first.save(folder));
  SftStage second = stage(2);
  const auto restored = second.restore(folder);
  ASSERT_TRUE(restored) << restored.error().message;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(first.step().loss, second.step().loss);
  EXPECT_EQ(distance(first.model().weights(), second.model().weights()), 0.0);
  fs::remove(folder / "optimizer.safetensors");
  EXPECT_FALSE(second.restore(folder));
}

TEST(SftTest, ConversationsWithoutTrainableTokensAreLeftOutAndCounted) {
  std::vector<Conversation> all = lessons(10);
  all.push_back(
      {std::vector<int32_t>(17, 1), std::vector<uint8_t>(17, 1)});  // longer than the context
  all.push_back({{1, 2}, {1, 0}});  // no action token after the first
  auto made = SftStage::make(config(), Transformer{tiny_config(), tiny_weights(1)}, all, 9);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->counts().left_out(), 2);
  EXPECT_EQ(
      counts_text(made->counts(), config().context),
      "10 conversations kept, 2 left out: 1 without an assistant message to train on, 1 longer "
      "than sft.context (16 tokens)");
}

TEST(SftTest, DataWithoutATrainableConversationAreRefusedWithTheReasons) {
  const auto refusal = [](const std::vector<Conversation>& all) {
    return require_kept(count_conversations(all, 3), 3).error().message;
  };
  EXPECT_EQ(refusal({}),
            "nothing to learn from: there are no conversations; add conversations with messages of "
            "role assistant");
  EXPECT_EQ(
      refusal({{{1, 2, 3, 4}, {0, 1, 1, 1}}, {{1, 2}, {0, 0}}}),
      "nothing to learn from: 0 conversations kept, 2 left out: 1 without an assistant message "
      "to train on, 1 longer than sft.context (3 tokens); raise sft.context, or add "
      "conversations that fit");
  EXPECT_TRUE(require_kept(count_conversations(lessons(1), 3), 3));
}

TEST(SftTest, ACheckpointAfterTheLastStepIsRefusedWithTheKeys) {
  const test_support::TemporaryFolder temporary;
  SftStage longer = stage();
  while (!longer.done()) longer.step();
  ASSERT_TRUE(longer.save(temporary.path()));
  auto shorter =
      SftStage::make(config(), Transformer{tiny_config(), tiny_weights(1)}, lessons(20), 9);
  const std::string message = shorter->restore(temporary.path()).error().message;
  EXPECT_NE(message.find("the conversations, sft.epochs and sft.batch_tokens make "),
            std::string::npos)
      << message;
}

TEST(SftTest, ImpossibleConversationsAreRefused) {
  const Transformer model{tiny_config(), tiny_weights(1)};
  EXPECT_FALSE(SftStage::make(config(), model, {}, 9));
  EXPECT_FALSE(SftStage::make(config(), model, {{{1, 99}, {0, 1}}}, 9));
  EXPECT_FALSE(SftStage::make(config(), model, {{{1, -2}, {0, 1}}}, 9));
  EXPECT_FALSE(SftStage::make(config(), model, {{{1, 2}, {0}}}, 9));
}

TEST(SftPlanTest, EveryEpochTrainsEachConversationOnceAndHeldOutOnesNever) {
  const std::vector<int64_t> sizes{5, 9, 100, 3, 3, 3, 8, 7, 30, 2};
  const BatchPlan plan =
      plan_batches(sizes, {.seed = 4, .epochs = 3, .batch_tokens = 20, .held_out_share = 0.2});
  EXPECT_EQ(plan.held_out.size(), 2U);
  std::vector<int> uses(sizes.size(), 0);
  for (const BatchIndices& batch : plan.batches) {
    int64_t tokens = 0;
    for (const size_t i : batch) {
      ++uses[i];
      tokens += sizes[i];
    }
    EXPECT_TRUE(tokens <= 20 || batch.size() == 1);
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool held = std::count(plan.held_out.begin(), plan.held_out.end(), i) > 0;
    EXPECT_EQ(uses[i], held ? 0 : 3) << i;
  }
}

TEST(SftPlanTest, EpochsDifferInOrderAndSeedsInSplit) {
  const std::vector<int64_t> sizes(50, 10);
  const BatchPlan a = plan_batches(sizes, {.seed = 1, .epochs = 2, .batch_tokens = 500});
  ASSERT_EQ(a.batches.size(), 2U);
  EXPECT_NE(a.batches[0], a.batches[1]);
  const BatchPlan b = plan_batches(sizes, {.seed = 1, .held_out_share = 0.2});
  const BatchPlan c = plan_batches(sizes, {.seed = 2, .held_out_share = 0.2});
  EXPECT_NE(b.held_out, c.held_out);
}

TEST(SftPlanTest, CosineRisesThenFallsToItsFloor) {
  EXPECT_DOUBLE_EQ(cosine_share(0, 100, 10, 0.1), 0.1);
  EXPECT_DOUBLE_EQ(cosine_share(9, 100, 10, 0.1), 1.0);
  EXPECT_DOUBLE_EQ(cosine_share(10, 100, 10, 0.1), 1.0);
  EXPECT_NEAR(cosine_share(99, 100, 10, 0.1), 0.1, 1e-12);
  EXPECT_GT(cosine_share(50, 100, 10, 0.1), cosine_share(51, 100, 10, 0.1));
}

}  // namespace
}  // namespace warpsmith::policy
