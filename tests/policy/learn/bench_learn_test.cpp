// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/bench_learn.hpp"

#include <gtest/gtest.h>

#include "tests/policy/learn/tiny_world.hpp"

namespace warpsmith::policy {
namespace {

TEST(BenchLearnTest, CountsEveryTokenOfEveryPass) {
  TrainerSetup setup;
  setup.learner.step.trajectories = 4;
  setup.learner.step.epochs = 2;
  Trainer trainer{setup, tiny_config(), tiny_weights(1)};
  const LearnBenchOptions shape{.trajectories = 4,
                                .prompt_tokens = 5,
                                .turns = 2,
                                .action_tokens = 6,
                                .result_tokens = 3,
                                .steps = 1};
  const LearnBench bench = bench_learn(trainer, shape, 1);
  EXPECT_EQ(trainer.version().step, 2U);
  // A trajectory has 23 tokens; the last 3 need no pass.
  EXPECT_NEAR(bench.passes_tokens_per_s / bench.trained_tokens_per_s, 2.0 * 20 / 23, 1e-9);
  EXPECT_LE(bench.observe_seconds, bench.seconds);
  EXPECT_GT(bench.gflops, 0.0);
}

TEST(BenchRanksTest, SeveralRanksDoTheSameSteps) {
  const RanksShape shape{.trajectories = 3, .tokens = 16, .steps = 2};
  std::vector<RanksFigures> figures;
  for (const int64_t ranks : {1, 2}) {
    TrainerSetup setup;
    setup.learner = ranks_config({.gpus = ranks}, shape);
    Trainer trainer{setup, tiny_config(), tiny_weights(1)};
    figures.push_back(bench_ranks(trainer, setup.learner, shape, 1));
    EXPECT_EQ(trainer.version().step, 3U);
    EXPECT_NEAR(figures.back().tokens_per_s * figures.back().seconds, 2.0 * 3 * 16, 1e-6);
  }
  ASSERT_EQ(figures[1].policy_losses.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(figures[0].policy_losses[i], figures[1].policy_losses[i], 1e-5);
    EXPECT_NEAR(figures[0].value_losses[i], figures[1].value_losses[i], 1e-5);
  }
}

}  // namespace
}  // namespace warpsmith::policy
