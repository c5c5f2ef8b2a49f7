// SPDX-License-Identifier: Apache-2.0
#include "policy/generate/cuda/memory_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/model_shapes.hpp"

namespace warpsmith::policy::cuda {
namespace {

using testing::HasSubstr;

constexpr int64_t gib = int64_t{1} << 30;

ModelConfig model() {
  return test::qwen3_1_7b(40'960);
}

constexpr EngineConfig engine{.max_sessions = 256,
                              .max_session_tokens = 768,
                              .cache_tokens = 262'144,
                              .step_rows = 4096,
                              .max_batch = 256};

TEST(MemoryPlanTest, CountsWeightsAndCacheInTheElementsOfThePrecision) {
  const MemoryPlan bf16 = plan_memory(model(), engine, Precision::bf16);
  const MemoryPlan fp32 = plan_memory(model(), engine, Precision::fp32);
  EXPECT_EQ(bf16.weights, 2 * model().parameter_count());
  EXPECT_EQ(bf16.cache_token, 28 * 2 * 1024 * 2);
  EXPECT_EQ(bf16.cache, (262'144 + 16) * bf16.cache_token);
  EXPECT_EQ(fp32.weights, 2 * bf16.weights);
  EXPECT_EQ(fp32.cache, 2 * bf16.cache);
}

TEST(MemoryPlanTest, AcceptsAGpuWithRoomForAllParts) {
  const MemoryPlan plan = plan_memory(model(), engine, Precision::bf16);
  EXPECT_TRUE(check_memory(plan, engine, 79 * gib));
}

TEST(MemoryPlanTest, NamesTheLargestCacheThatFits) {
  const MemoryPlan plan = plan_memory(model(), engine, Precision::bf16);
  const auto refused = check_memory(plan, engine, 20 * gib);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::capacity);
  const std::string& text = refused.error().message;
  EXPECT_THAT(text, HasSubstr("lower cache_tokens from 262144 to at most "));
  EngineConfig lower = engine;
  lower.cache_tokens = std::stoll(text.substr(text.rfind(' ')));
  EXPECT_TRUE(check_memory(plan_memory(model(), lower, Precision::bf16), lower, 20 * gib));
  lower.cache_tokens += 2 * block_tokens;
  EXPECT_FALSE(check_memory(plan_memory(model(), lower, Precision::bf16), lower, 20 * gib));
}

TEST(MemoryPlanTest, ReportsAModelThatIsTooLarge) {
  const MemoryPlan plan = plan_memory(model(), engine, Precision::bf16);
  const auto refused = check_memory(plan, engine, 3 * gib);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("the weights alone do not fit"));
}

TEST(MemoryPlanTest, NamesOtherSettingsWhenNoCacheWouldFit) {
  const MemoryPlan plan = plan_memory(model(), engine, Precision::bf16);
  const auto refused = check_memory(plan, engine, 46 * gib / 10);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("step_rows (4096)"));
}

TEST(DecodeRooflineTest, ReadsWeightsOnceAndEveryCacheOnce) {
  const double weights = 2.0 * static_cast<double>(model().parameter_count());
  const double cache = 640.0 * 28 * 2 * 1024 * 2;
  EXPECT_NEAR(decode_roofline(model(), 1, 640, 3e12), 3e12 / (weights + cache), 1e-6);
  EXPECT_NEAR(decode_roofline(model(), 64, 640, 3e12), 64 * 3e12 / (weights + 64 * cache), 1e-6);
}

}  // namespace
}  // namespace warpsmith::policy::cuda
