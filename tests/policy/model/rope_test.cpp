// SPDX-License-Identifier: Apache-2.0
// Rotary scaling against numbers of transformers' ROPE_INIT_FUNCTIONS["yarn"].
#include "policy/model/rope.hpp"

#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace warpsmith::policy {
namespace {

ModelConfig yarn_config(double theta, const RopeScaling& scaling) {
  ModelConfig config{.head_dim = 16, .max_positions = 131'072, .rope_theta = theta};
  config.rope = scaling;
  config.rope.kind = RopeScalingKind::yarn;
  return config;
}

void expect_frequencies(const ModelConfig& config, const std::vector<double>& expected) {
  const at::Tensor got = rope_frequencies(config);
  ASSERT_EQ(got.size(0), static_cast<int64_t>(expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(got[static_cast<int64_t>(i)].item<double>() / expected[i], 1, 1e-6) << "pair " << i;
  }
}

TEST(RopeTest, YarnOfQwen3MatchesTransformers) {
  const ModelConfig config = yarn_config(1e6, {.factor = 4, .original_max_positions = 32'768});
  expect_frequencies(config, {1, 0.177827939, 0.0316227786, 0.00421755994, 0.000500000024,
                              4.44569851e-05, 7.90569356e-06, 1.40585337e-06});
  EXPECT_DOUBLE_EQ(rope_magnitude(config), 1.138629436111989);
}

TEST(RopeTest, YarnWithOwnBoundsMatchesTransformers) {
  const ModelConfig config = yarn_config(1e4, {.factor = 8,
                                               .original_max_positions = 4096,
                                               .beta_fast = 16,
                                               .beta_slow = 2,
                                               .truncate = false});
  expect_frequencies(config, {1, 0.316227764, 0.100000001, 0.0316227786, 0.00622188905,
                              0.000435575581, 0.000125000006, 3.95284733e-05});
  EXPECT_DOUBLE_EQ(rope_magnitude(config), 1.2079441541679836);
}

TEST(RopeTest, YarnMakesCosinesAndSinesLonger) {
  const ModelConfig config = yarn_config(1e4, {.factor = 8, .attention_factor = 1.5});
  const RopeAngles angles = rope_angles(rope_frequencies(config), at::arange(3, at::kLong),
                                        at::kFloat, rope_magnitude(config));
  EXPECT_FLOAT_EQ(angles.cos[0][0][0].item<float>(), 1.5F);
  const auto cosine = angles.cos[2][0][3].item<double>();
  const auto sine = angles.sin[2][0][3].item<double>();
  EXPECT_NEAR(std::hypot(cosine, sine), 1.5, 1e-6);
}

TEST(RopeTest, OtherKindsKeepTheLength) {
  EXPECT_EQ(rope_magnitude({.rope_theta = 1e4}), 1);
}

}  // namespace
}  // namespace warpsmith::policy
