// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/stages/value.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "policy/format/safetensors.hpp"
#include "policy/learn/critic_folder.hpp"
#include "policy/learn/trainer.hpp"
#include "tests/policy/learn/tiny_world.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::policy {
namespace {

namespace fs = std::filesystem;

/// Prompt token p, then two action tokens and a masked one; the reward follows from p.
std::vector<ValueExample> value_examples(size_t count) {
  std::vector<ValueExample> all;
  for (size_t i = 0; i < count; ++i) {
    const auto p = static_cast<int32_t>(i % 4);
    const Segment segment{
        i + 1, 0, {p + 8, p, 1, 2}, {0, 1, 1, 0}, {0, -1, -1, 0}, std::vector<PolicyVersion>(4)};
    ValueExample example;
    example.held.id = i + 1;
    if (!example.held.append(segment)) throw std::runtime_error("the segment is refused");
    example.reward = p < 2 ? -1.0 : 2.0;
    all.push_back(std::move(example));
  }
  return all;
}

ValueConfig value_config() {
  ValueConfig c;
  c.epochs = 10;
  c.batch_tokens = 64;
  c.learning_rate = 3e-3;
  c.warmup = 2;
  c.held_out_share = 0.2;
  c.patience = 1000;
  return c;
}

ActorCritic networks(CriticKind kind) {
  return {tiny_config(), tiny_weights(1), CriticConfig{.kind = kind}, 1.0};
}

ValueStage value_stage(CriticKind kind = CriticKind::separate,
                       const ValueConfig& c = value_config()) {
  return std::move(ValueStage::make(c, networks(kind), value_examples(100), 3).value());
}

TEST(ValueStageTest, ExplainsTheRewardsOfHeldOutTrajectories) {
  ValueStage learning = value_stage();
  EXPECT_NEAR(learning.explained_variance(), 0, 1e-6) << "a new head predicts 0";
  ValueReport last;
  while (!learning.done()) last = learning.step();
  EXPECT_GT(last.explained_variance, 0.9);
  EXPECT_EQ(last.step, last.steps);
}

TEST(ValueStageTest, ASharedTrunkStaysUnchanged) {
  ValueStage learning = value_stage(CriticKind::shared);
  const test_support::TemporaryFolder folder;
  while (!learning.done()) learning.step();
  EXPECT_GT(learning.best_explained_variance(), 0.3);
  ASSERT_TRUE(learning.save_best(folder.path()));
  EXPECT_FALSE(fs::exists(folder.path() / "model.safetensors")) << "the body belongs to the policy";
}

/// All tokens are equal; the reward follows from the first action's probability.
std::vector<ValueExample> surprising_examples(size_t count) {
  std::vector<ValueExample> all = value_examples(count);
  for (ValueExample& example : all) {
    example.held.tokens[0] = example.held.tokens[1] = 8;
    if (example.reward < 0) example.held.behaviour[1] = -5;
  }
  return all;
}

double best_on_surprising(bool surprise) {
  const CriticConfig critic{.kind = CriticKind::separate, .surprise = surprise};
  auto learning = ValueStage::make(value_config(), {tiny_config(), tiny_weights(1), critic, 1.0},
                                   surprising_examples(100), 3);
  while (!learning->done()) learning->step();
  return learning->best_explained_variance();
}

TEST(ValueStageTest, ReadsHowUnlikelyEarlierTokensWere) {
  EXPECT_LT(best_on_surprising(false), 0.05) << "the tokens do not show it";
  EXPECT_GT(best_on_surprising(true), 0.2) << "only the second token can: 0.5 at most";
}

TEST(ValueStageTest, EndsWhenTheExplainedVarianceStopsRising) {
  ValueConfig c = value_config();
  c.patience = 3;
  c.learning_rate = 1e-30;  // too little to change an error
  ValueStage learning = value_stage(CriticKind::separate, c);
  int steps = 0;
  for (; !learning.done(); ++steps) learning.step();
  EXPECT_LT(steps, learning.steps());
}

TEST(ValueStageTest, TargetsFollowLambda) {
  ValueConfig c = value_config();
  c.lambda = 0;  // every token but the last learns the next token's value, which is 0 at the start
  ValueStage bootstrapped = value_stage(CriticKind::separate, c);
  ValueStage monte_carlo = value_stage();
  EXPECT_NEAR(bootstrapped.step().loss * 2, monte_carlo.step().loss, 1e-6);
}

TEST(ValueStageTest, ARestoredStageContinuesIdentically) {
  const test_support::TemporaryFolder folder;
  ValueStage first = value_stage();
  for (int i = 0; i < 5; ++i) first.step();
  ASSERT_TRUE(first.save(folder.path()));
  ValueStage second = value_stage();
  const auto restored = second.restore(folder.path());
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(second.step_number(), 5);
  EXPECT_EQ(second.best_explained_variance(), first.best_explained_variance());
  for (int i = 0; i < 3; ++i) {
    const ValueReport a = first.step(), b = second.step();
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(a.explained_variance, b.explained_variance);
  }
}

TEST(ValueStageTest, ACheckpointOfAnotherCriticIsRefused) {
  const test_support::TemporaryFolder folder;
  ASSERT_TRUE(value_stage(CriticKind::shared).save(folder.path()));
  ValueStage other = value_stage(CriticKind::separate);
  const auto restored = other.restore(folder.path());
  ASSERT_FALSE(restored);
  EXPECT_THAT(restored.error().message, testing::HasSubstr("not a checkpoint of this critic"));
}

TEST(ValueStageTest, TooFewTrajectoriesAreRefused) {
  const auto made =
      ValueStage::make(value_config(), networks(CriticKind::shared), value_examples(3), 1);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, testing::HasSubstr("value.held_out_share of 3"));
}

class CriticFolderTest : public ::testing::Test {
 protected:
  /// A trained critic of that kind in the folder.
  void make(CriticKind kind) {
    ValueStage learning = value_stage(kind);
    for (int i = 0; i < 4; ++i) learning.step();
    ASSERT_TRUE(learning.save_best(folder_.path()));
  }
  std::string error(const ModelConfig& model, CriticKind kind) const {
    const auto read = read_critic(folder_.path(), model, {.kind = kind});
    return read ? "" : read.error().message;
  }
  test_support::TemporaryFolder folder_;
};

TEST_F(CriticFolderTest, ATrainerStartsFromACriticFolder) {
  make(CriticKind::separate);
  auto critic = read_critic(folder_.path(), tiny_config(), {.kind = CriticKind::separate});
  ASSERT_TRUE(critic) << critic.error().message;
  ActorCritic with = networks(CriticKind::separate);
  assign_critic(with, *critic);
  EXPECT_GT(with.value_head().weight.abs().sum().item<double>(), 0);
  EXPECT_EQ(distance(with.critic_body().weights(), *critic->body), 0);
  EXPECT_EQ(distance(with.actor().weights(), tiny_weights(1)), 0) << "the policy stays";

  TrainerSetup setup;
  setup.learner.critic.kind = CriticKind::separate;
  setup.critic = std::make_shared<const CriticWeights>(*critic);
  const Trainer trainer{setup, tiny_config(), tiny_weights(1)};
  const test_support::TemporaryFolder saved;
  ASSERT_TRUE(trainer.snapshot()->save(saved.path()));
  const auto again =
      read_critic(saved.path() / "critic", tiny_config(), {.kind = CriticKind::separate});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(distance(*again->body, *critic->body), 0);
}

TEST_F(CriticFolderTest, AnotherShapeIsRefusedWithFileAndRemedy) {
  make(CriticKind::separate);
  ModelConfig wider = tiny_config();
  wider.hidden *= 2;
  EXPECT_THAT(error(wider, CriticKind::shared), testing::HasSubstr("value_head.safetensors: "));
  const auto other = read_critic(folder_.path(), tiny_config(), {.surprise = true});
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, testing::HasSubstr("learner.critic.surprise"));
  ModelConfig deeper = tiny_config();
  ++deeper.layers;
  const std::string text = error(deeper, CriticKind::separate);
  EXPECT_THAT(text, testing::HasSubstr(folder_.path().string()));
  EXPECT_THAT(text, testing::HasSubstr("set learner.critic.folder to a critic of this model"));
}

TEST_F(CriticFolderTest, AHeadThatIsNotFiniteIsRefused) {
  make(CriticKind::shared);
  const auto file = folder_.path() / "value_head.safetensors";
  auto head = read_safetensors(file);
  ASSERT_TRUE(head) << head.error().message;
  at::Tensor bias = head->at("score.bias").clone();
  head->at("score.bias") = bias.fill_(std::nan(""));
  ASSERT_TRUE(write_safetensors(file, *head));
  EXPECT_THAT(
      error(tiny_config(), CriticKind::shared),
      testing::HasSubstr("value head: tensor \"score.bias\": expected finite numbers, got 1 "
                         "of 1"));
}

TEST_F(CriticFolderTest, ASeparateCriticNeedsABody) {
  make(CriticKind::shared);
  EXPECT_EQ(error(tiny_config(), CriticKind::shared), "");
  EXPECT_THAT(error(tiny_config(), CriticKind::separate), testing::HasSubstr("model.safetensors"));
}

}  // namespace
}  // namespace warpsmith::policy
