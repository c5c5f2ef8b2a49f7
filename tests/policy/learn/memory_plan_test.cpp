// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/memory_plan.hpp"

#include <gtest/gtest.h>

#include "tests/policy/learn/tiny_world.hpp"

namespace warpsmith::policy {
namespace {

TEST(LearnerMemoryTest, CountsEveryCopyOfTheParameters) {
  const int64_t count = tiny_config().parameter_count();
  LearnerConfig config;
  config.device = ComputeDevice::cuda;
  EXPECT_EQ(plan_learner_memory(tiny_config(), config, 64).parameters, 18 * count);
  EXPECT_EQ(plan_learner_memory(tiny_config(), config, 64).published, 2 * count);
  config.precision = ComputePrecision::fp32;
  EXPECT_EQ(plan_learner_memory(tiny_config(), config, 64).parameters, 16 * count);
  config.critic.kind = CriticKind::separate;
  config.loss.kl = 0.1;
  EXPECT_EQ(plan_learner_memory(tiny_config(), config, 64).parameters, 32 * count);
  EXPECT_EQ(plan_learner_memory(tiny_config(), config, 64).reference, 4 * count);
}

TEST(LearnerMemoryTest, RanksShareTheMoments) {
  const int64_t count = tiny_config().parameter_count();
  LearnerConfig config;
  config.device = ComputeDevice::cuda;
  config.gpus = 2;
  EXPECT_EQ(plan_learner_memory(tiny_config(), config, 64).parameters, 14 * count);
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
  EXPECT_EQ(plan_learner_memory(model, config, 64).parameters, expected);
  config.loss.kl = 0.1;
  EXPECT_EQ(plan_learner_memory(model, config, 64).reference, 0) << "the frozen weights";
  config.critic.kind = CriticKind::separate;
  EXPECT_EQ(plan_learner_memory(model, config, 64).parameters,
            expected + 18 * model.parameter_count());
}

TEST(LearnerMemoryTest, ActivationsGrowWithTheLongestTrajectory) {
  LearnerConfig config;
  config.device = ComputeDevice::cuda;
  config.pack_tokens = 100;
  const auto at = [&](int64_t longest) {
    return plan_learner_memory(tiny_config(), config, longest).activations;
  };
  EXPECT_EQ(at(50), at(100));
  EXPECT_GT(at(1000), 5 * at(100));
  config.device = ComputeDevice::cpu;
  EXPECT_EQ(at(1000), 0);
}

}  // namespace
}  // namespace warpsmith::policy
