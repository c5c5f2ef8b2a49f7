// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/memory_plan.hpp"

#include <gtest/gtest.h>

#include "tests/policy/learn/tiny_world.hpp"
#include "tests/support/model_shapes.hpp"

namespace warpsmith::policy {
namespace {

TEST(LearnerMemoryTest, CountsEveryCopyOfTheParameters) {
  const int64_t count = tiny_config().parameter_count();
  LearnerConfig config;
  config.device = ComputeDevice::cuda;
  EXPECT_EQ(plan_learner_memory(tiny_config(), config, {64}).parameters, 18 * count);
  EXPECT_EQ(plan_learner_memory(tiny_config(), config, {64}).published, 2 * count);
  config.precision = ComputePrecision::fp32;
  EXPECT_EQ(plan_learner_memory(tiny_config(), config, {64}).parameters, 16 * count);
  config.critic.kind = CriticKind::separate;
  config.loss.kl = 0.1;
  EXPECT_EQ(plan_learner_memory(tiny_config(), config, {64}).parameters, 32 * count);
  EXPECT_EQ(plan_learner_memory(tiny_config(), config, {64}).reference, 4 * count);
}

TEST(LearnerMemoryTest, RanksShareTheMoments) {
  const int64_t count = tiny_config().parameter_count();
  LearnerConfig config;
  config.device = ComputeDevice::cuda;
  config.gpus = 2;
  EXPECT_EQ(plan_learner_memory(tiny_config(), config, {64}).parameters, 14 * count);
}

TEST(LearnerMemoryTest, AdaptersReplaceTheStateOfThePolicyOnly) {
  ModelConfig model = tiny_config();
  LearnerConfig config;
  config.device = ComputeDevice::cuda;
  config.lora = {.rank = 1, .targets = {"down"}};
  const int64_t targets = model.layers * model.hidden * model.ffn;
  const int64_t adapters = model.layers * (model.hidden + model.ffn);
  const int64_t expected =
      2 * (model.parameter_count() + targets) + 16 * adapters + 6 * model.hidden * model.ffn;
  EXPECT_EQ(plan_learner_memory(model, config, {64}).parameters, expected);
  config.loss.kl = 0.1;
  EXPECT_EQ(plan_learner_memory(model, config, {64}).reference, 0) << "the frozen weights";
  config.critic.kind = CriticKind::separate;
  EXPECT_EQ(plan_learner_memory(model, config, {64}).parameters,
            expected + 18 * model.parameter_count());
}

TEST(DataStageMemoryTest, CountsWhatEachStageTrains) {
  const int64_t count = tiny_config().parameter_count();
  LearnerConfig config;
  EXPECT_EQ(plan_policy_fitting(tiny_config(), config, 64).parameters, 16 * count);
  config.critic.kind = CriticKind::shared;
  EXPECT_EQ(plan_critic_fitting(tiny_config(), config, 64).parameters, 4 * count);
  config.critic.kind = CriticKind::separate;
  EXPECT_EQ(plan_critic_fitting(tiny_config(), config, 64).parameters, 24 * count);
  config.device = ComputeDevice::cuda;
  EXPECT_EQ(plan_policy_fitting(tiny_config(), config, 64).parameters, 18 * count);
  EXPECT_EQ(plan_critic_fitting(tiny_config(), config, 64).parameters, 28 * count);
}

TEST(DataStageMemoryTest, ActivationsGrowWithThePackOnEachDevice) {
  LearnerConfig config;
  for (const ComputeDevice device : {ComputeDevice::cpu, ComputeDevice::cuda}) {
    config.device = device;
    const auto plan = [&](int64_t pack) {
      return plan_policy_fitting(tiny_config(), config, pack).activations;
    };
    EXPECT_GT(plan(1000), 0);
    EXPECT_GT(plan(20'000), 5 * plan(1000));
  }
  config.offload = {"layer_inputs"};
  EXPECT_GT(plan_policy_fitting(tiny_config(), config, 1000).host, 0);
}

class LongMemoryTest : public testing::Test {
 protected:
  LongMemoryTest() {
    model_.max_positions = 1 << 20;
    model_.layers = 8;
    config_.device = ComputeDevice::cuda;
    config_.pack_tokens = 100;
  }
  LearnerMemory plan(int64_t longest, int64_t concurrent = 1) const {
    return plan_learner_memory(model_, config_, {longest, concurrent});
  }

  ModelConfig model_ = tiny_config();
  LearnerConfig config_;
};

TEST_F(LongMemoryTest, ActivationsGrowWithTheLongestTrajectory) {
  EXPECT_EQ(plan(50).activations, plan(100).activations);
  EXPECT_GT(plan(1000).activations, 5 * plan(100).activations);
  config_.device = ComputeDevice::cpu;
  EXPECT_EQ(plan(1000).activations, 0);
}

TEST_F(LongMemoryTest, KeptPrefixesAreBoundedByTheirTrajectoriesAndByMaxHeld) {
  config_.max_held_bytes = int64_t{1} << 40;
  const int64_t one = plan(10'000).kept;
  EXPECT_EQ(plan(10'000, 3).kept, 3 * one);
  config_.max_held_bytes = one + 1;
  EXPECT_EQ(plan(10'000, 3).kept, one + 1);
  config_.forwards = ForwardMode::at_use;
  EXPECT_EQ(plan(10'000, 3).kept, 0);
}

TEST_F(LongMemoryTest, OffloadedTensorsCountAsHostMemory) {
  config_.max_held_bytes = 1;
  const LearnerMemory before = plan(10'000, 2);
  EXPECT_EQ(before.host, 0);
  config_.offload = {"layer_inputs"};
  const LearnerMemory inputs = plan(10'000, 2);
  EXPECT_LT(inputs.activations, before.activations);
  EXPECT_EQ(inputs.kept, before.kept);
  config_.offload = {"layer_inputs", "kept_prefixes"};
  const LearnerMemory both = plan(10'000, 2);
  EXPECT_EQ(both.activations, inputs.activations);
  EXPECT_GT(both.kept, inputs.kept) << "two layers at a time return to the GPU";
  EXPECT_GT(both.host, inputs.host);
  config_.max_offloaded_bytes = 10;
  EXPECT_EQ(plan(10'000, 2).host, inputs.host + 10);
}

/// Measured by `bench learn --device cuda --update` for Qwen3-1.7B's shape; see docs/benches.md.
TEST(LearnerMemoryTest, PlansTheMeasuredPeakOfALongUpdateWithinATenth) {
  const ModelConfig model = test::qwen3_1_7b(131'072);
  LearnerConfig config;
  config.device = ComputeDevice::cuda;
  config.forwards = ForwardMode::at_use;
  config.step = {.trajectories = 1};
  const auto gib = [&] {
    return static_cast<double>(plan_learner_memory(model, config, {131'072}).total()) / (1 << 30);
  };
  EXPECT_NEAR(gib(), 62.5, 6.2);
  config.critic.kind = CriticKind::separate;
  EXPECT_NEAR(gib(), 91.4, 9.1);
}

}  // namespace
}  // namespace warpsmith::policy
