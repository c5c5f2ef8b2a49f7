// SPDX-License-Identifier: Apache-2.0
// Shards of parameters and their optimiser; several ranks train like one.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "policy/learn/ranks/threaded_group.hpp"
#include "policy/learn/replicas.hpp"
#include "policy/learn/trainer.hpp"
#include "tests/policy/learn/tiny_world.hpp"
#include "tests/support/temporary_folder.hpp"

namespace warpsmith::policy {
namespace {

at::Tensor numbers(std::vector<int64_t> sizes, double first) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return (at::arange(count, at::kFloat) + first).view(sizes).requires_grad_();
}

/// A matrix of 10 elements, a vector of 3 and one of 1.
std::vector<ParameterGroup> parameters() {
  return {{"policy", {{"matrix", numbers({2, 5}, 0)}, {"vector", numbers({3}, 20)}}},
          {"critic", {{"bias", numbers({1}, 30)}}}};
}

TEST(ShardsTest, RangesCoverEveryElementOnce) {
  for (const int64_t elements : {1, 2, 3, 7, 8, 1000}) {
    for (const size_t ranks : {1U, 2U, 3U, 8U}) {
      int64_t next = 0;
      for (size_t rank = 0; rank < ranks; ++rank) {
        const ShardRange range = shard_range(elements, rank, ranks);
        EXPECT_EQ(range.first, next);
        EXPECT_LE(range.count, range.part);
        next += range.count;
      }
      EXPECT_EQ(next, elements);
    }
  }
}

TEST(ShardsTest, ShardsAreViewsThatDecayLikeTheirParameters) {
  const auto whole = parameters();
  const auto own = Shards{whole, 1, 4}.own();
  ASSERT_EQ(own[0].parameters.size(), 2U);
  EXPECT_EQ(own[0].parameters[0].second.dim(), 2) << "a matrix decays";
  EXPECT_EQ(own[0].parameters[1].second.dim(), 1);
  EXPECT_TRUE(own[1].parameters.empty()) << "the only element belongs to rank 0";
  EXPECT_EQ(own[0].parameters[0].second.data_ptr<float>(),
            whole[0].parameters[0].second.data_ptr<float>() + 3);
}

TEST(ShardsTest, GradientsAreSummedAndUpdatesReachEveryRank) {
  constexpr size_t ranks = 3;
  const auto group = make_rank_group({.devices = {ranks, at::Device(at::kCPU)},
                                      .threads = 1,
                                      .timeout = std::chrono::milliseconds{20'000}});
  std::vector<std::vector<ParameterGroup>> whole;
  std::vector<Shards> shards;
  for (size_t rank = 0; rank < ranks; ++rank) {
    whole.push_back(parameters());
    shards.emplace_back(whole.back(), rank, ranks);
  }
  for (size_t rank = 0; rank < 2; ++rank) {  // the third has none
    const at::Tensor& matrix = whole[rank][0].parameters[0].second;
    matrix.mutable_grad() = at::full_like(matrix, static_cast<double>(rank + 1));
  }
  const Shards::Which which = shards[0].with_gradient();
  group->run([&](size_t rank, Collective& collective) {
    shards[rank].reduce_gradients(which, collective);
    const auto own = shards[rank].own();
    at::Tensor shard = own[0].parameters[0].second;
    shard.sub_(shard.grad());
    EXPECT_FALSE(own[0].parameters[1].second.grad().defined());
    shards[rank].clear_gradients();
    shards[rank].gather(which, collective);
  });
  const at::Tensor expected = parameters()[0].parameters[0].second - 3;
  for (const auto& groups : whole) {
    EXPECT_TRUE(groups[0].parameters[0].second.equal(expected));
    EXPECT_FALSE(groups[0].parameters[0].second.grad().defined());
  }
}

TEST(ShardsTest, StateIsTheSameForAnyNumberOfRanks) {
  WeightMap all;
  for (const auto& group : parameters()) {
    for (const auto& [name, parameter] : group.parameters) {
      all[group.name + "/" + name + ".exp_avg"] = parameter.detach() + 100;
      all[group.name + "/" + name + ".exp_avg_sq"] = parameter.detach() + 200;
    }
  }
  WeightMap joined;
  for (size_t rank = 0; rank < 3; ++rank) {
    const Shards shards{parameters(), rank, 3};
    shards.add_state(shards.own_state(all), joined);
  }
  ASSERT_EQ(joined.size(), all.size());
  for (const auto& [name, tensor] : all) EXPECT_TRUE(joined.at(name).equal(tensor)) << name;
}

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
  EXPECT_GT(distance(*trainer.weights().weights, tiny_weights(1)), 0.0) << "and training continues";
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
