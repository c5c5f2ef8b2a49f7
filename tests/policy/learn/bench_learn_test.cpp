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

}  // namespace
}  // namespace warpsmith::policy
