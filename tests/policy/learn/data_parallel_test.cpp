// SPDX-License-Identifier: Apache-2.0
// Several ranks train like one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "policy/learn/trainer.hpp"
#include "tests/policy/learn/tiny_world.hpp"
#include "tests/policy/learn/train_step.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::policy {
namespace {

TrainerSetup setup_of(int64_t ranks) {
  TrainerSetup s;
  s.seed = 3;
  s.learner.gpus = ranks;
  s.learner.forwards = ForwardMode::at_use;
  s.learner.step = {.trajectories = 9, .minibatches = 2, .epochs = 2};
  s.learner.pack_tokens = 24;  // three trajectories
  s.learner.optimizer.learning_rate = 3e-3;
  s.learner.optimizer.critic_learning_rate = 1e-2;
  s.learner.optimizer.weight_decay = 0.01;
  // With the usual epsilon, AdamW turns rounding differences of tiny gradients into whole steps.
  s.learner.optimizer.epsilon = 1e-3;
  s.learner.critic.kind = CriticKind::separate;
  s.learner.loss.kl = 0.01;
  return s;
}

/// The steps of two trainers on the same trajectories are equal but for rounding.
void expect_equal_steps(const TrainerSetup& one, const TrainerSetup& several) {
  Trainer a = trainer_of(one);
  Trainer b = trainer_of(several);
  TinyWorld world{5};
  for (int step = 0; step < 4; ++step) {
    const std::vector<Trajectory> played = world.play(a.weights(), 9);
    const StepReport left = train(a, played);
    const StepReport right = train(b, played);
    EXPECT_EQ(left.updates, right.updates);
    EXPECT_EQ(left.tokens.tokens, right.tokens.tokens);
    EXPECT_EQ(left.forward_tokens, right.forward_tokens);
    EXPECT_NEAR(left.policy_loss, right.policy_loss, 1e-5);
    EXPECT_NEAR(left.value_loss, right.value_loss, 1e-5);
    EXPECT_NEAR(left.gradient_norm, right.gradient_norm, 1e-5);
    EXPECT_LT(distance(*a.weights().weights, *b.weights().weights), 2e-6) << "step " << step;
  }
  EXPECT_GT(distance(*a.weights().weights, tiny_weights(1)), 1e-3) << "nothing was learned";
}

TEST(DataParallelTest, TwoAndThreeRanksTrainLikeOne) {
  for (const int64_t ranks : {2, 3}) {
    SCOPED_TRACE(ranks);
    expect_equal_steps(setup_of(1), setup_of(ranks));
  }
}

TEST(DataParallelTest, SharedCriticAndTrajectoryMeanTrainLikeOneRank) {
  const auto changed = [](int64_t ranks) {
    TrainerSetup s = setup_of(ranks);
    s.learner.critic = {.kind = CriticKind::shared, .value_warmup = 1};
    s.learner.loss.aggregation = Aggregation::trajectory_mean;
    s.learner.advantage.running_scale = true;
    return s;
  };
  expect_equal_steps(changed(1), changed(2));
}

TEST(DataParallelTest, MoreRanksThanTrajectoriesTrainLikeOne) {
  const auto changed = [](int64_t ranks) {
    TrainerSetup s = setup_of(ranks);
    s.learner.step = {.trajectories = 3};
    return s;
  };
  Trainer one = trainer_of(changed(1));
  Trainer four = trainer_of(changed(4));
  const std::vector<Trajectory> played = TinyWorld{5}.play(one.weights(), 3);
  train(one, played);
  train(four, played);
  EXPECT_LT(distance(*one.weights().weights, *four.weights().weights), 2e-6);
}

TEST(DataParallelTest, SameCallsGiveTheSameWeightsBitForBit) {
  Trainer a = trainer_of(setup_of(2));
  Trainer b = trainer_of(setup_of(2));
  EXPECT_EQ(learning_curve(a, 3, 0), learning_curve(b, 3, 0));
  EXPECT_EQ(distance(*a.weights().weights, *b.weights().weights), 0.0);
}

TEST(DataParallelTest, NumberThatIsNotFiniteOnOneRankSkipsTheUpdateOnAll) {
  TrainerSetup s = setup_of(2);
  s.learner.step = {.trajectories = 2};
  s.learner.loss.kl = 0;
  s.learner.loss.weight_cap = 1e6;
  Trainer trainer = trainer_of(s);
  std::vector<Trajectory> played = TinyWorld{5}.play(trainer.weights(), 2);
  played[1].outcome.reward = 1e300;  // its loss on the second rank exceeds every float
  const StepReport report = train(trainer, played);
  EXPECT_EQ(report.skipped_updates, 1);
  EXPECT_EQ(distance(*trainer.weights().weights, tiny_weights(1)), 0.0);
  train(trainer, TinyWorld{6}.play(trainer.weights(), 2));
  EXPECT_GT(distance(*trainer.weights().weights, tiny_weights(1)), 0.0) << "and training goes on";
}

TEST(DataParallelTest, DeadlineOfARankEndsTheStepAndNamesTheRank) {
  TrainerSetup s = setup_of(2);
  s.learner.rank_timeout = std::chrono::milliseconds{0};
  Trainer trainer = trainer_of(s);
  const std::vector<Trajectory> played = TinyWorld{5}.play(trainer.weights(), 9);
  try {
    train(trainer, played);
    ADD_FAILURE() << "no failure";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(),
                testing::ContainsRegex("learner: rank [01] of 2 .cpu. did not finish"));
  }
}

TEST(DataParallelTest, CheckpointFitsAnyNumberOfRanks) {
  const test_support::TemporaryFolder folder;
  Trainer two = trainer_of(setup_of(2));
  TinyWorld world{5};
  train(two, world.play(two.weights(), 9));
  ASSERT_TRUE(two.snapshot()->save(folder.path()));
  Trainer again = trainer_of(setup_of(2));
  Trainer one = trainer_of(setup_of(1));
  Trainer three = trainer_of(setup_of(3));
  for (Trainer* restored : {&again, &one, &three}) {
    const auto done = restored->restore(folder.path(), 0);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(distance(*restored->weights().weights, *two.weights().weights), 0.0);
  }
  const std::vector<Trajectory> played = world.play(two.weights(), 9);
  for (Trainer* trainer : {&two, &again, &one, &three}) train(*trainer, played);
  EXPECT_EQ(distance(*again.weights().weights, *two.weights().weights), 0.0) << "exact";
  EXPECT_LT(distance(*one.weights().weights, *two.weights().weights), 2e-6);
  EXPECT_LT(distance(*three.weights().weights, *two.weights().weights), 2e-6);
}

}  // namespace
}  // namespace warpsmith::policy
