// SPDX-License-Identifier: Apache-2.0
#include "policy/learn/adamw.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "tests/policy/learn/golden.hpp"

namespace warpsmith::policy {
namespace {

OptimizerConfig golden_config() {
  const auto& g = golden()["adamw"];
  return {.beta1 = g["beta1"],
          .beta2 = g["beta2"],
          .epsilon = g["epsilon"],
          .weight_decay = g["weight_decay"],
          .gradient_clip = g["clip"]};
}

/// A (1, n) matrix, which decays.
at::Tensor golden_start() {
  return tensor_of(golden()["adamw"]["start"]).unsqueeze(0).requires_grad_();
}

double distance(const at::Tensor& a, const nlohmann::json& b) {
  return a.detach().squeeze(0).sub(tensor_of(b)).abs().max().item<double>();
}

TEST(AdamWTest, MatchesNumpyReferenceWithClippingAndDecay) {
  const auto& g = golden()["adamw"];
  at::Tensor weight = golden_start();
  AdamW optimiser{golden_config(), {{"policy", {{"w", weight}}}}};
  for (size_t i = 0; i < g["grads"].size(); ++i) {
    // Half the gradient at a scale of 2: the scale applies before clipping.
    weight.mutable_grad() = tensor_of(g["grads"][i]).unsqueeze(0).mul(0.5);
    const double norm = optimiser.step(0, g["learning_rate"], 2.0);
    EXPECT_NEAR(norm, g["norms"][i], 1e-12);
    EXPECT_LT(distance(weight, g["weights"][i]), 1e-7);  // bias corrections are float32 inside
    EXPECT_FALSE(weight.grad().defined());
  }
}

TEST(AdamWTest, VectorsDoNotDecay) {
  at::Tensor bias = at::tensor({1.0, 2.0}, at::kDouble).requires_grad_();
  AdamW optimiser{{.weight_decay = 0.5}, {{"policy", {{"b", bias}}}}};
  bias.mutable_grad() = at::tensor({0.0, 0.0}, at::kDouble);
  optimiser.step(0, 0.1, 1.0);
  EXPECT_EQ(bias[1].item<double>(), 2.0);
}

TEST(AdamWTest, GradientThatIsNotFiniteChangesNothing) {
  at::Tensor weight = golden_start();
  AdamW optimiser{golden_config(), {{"policy", {{"w", weight}}}}};
  weight.mutable_grad() = weight.detach().mul(std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(std::isfinite(optimiser.step(0, 0.1, 1.0)));
  EXPECT_EQ(distance(weight, golden()["adamw"]["start"]), 0.0);
  EXPECT_EQ(optimiser.updates(0), 0);
  EXPECT_FALSE(weight.grad().defined());
}

TEST(AdamWTest, RestoredStateContinuesIdentically) {
  const auto& g = golden()["adamw"];
  at::Tensor a = golden_start();
  AdamW first{golden_config(), {{"policy", {{"w", a}}}}};
  const auto take = [&](AdamW& optimiser, at::Tensor& weight, size_t i) {
    weight.mutable_grad() = tensor_of(g["grads"][i]).unsqueeze(0);
    optimiser.step(0, g["learning_rate"], 1.0);
  };
  take(first, a, 0);
  take(first, a, 1);
  at::Tensor b = a.detach().clone().requires_grad_();
  AdamW second{golden_config(), {{"policy", {{"w", b}}}}};
  ASSERT_TRUE(second.restore(first.state()));
  take(first, a, 2);
  take(second, b, 2);
  EXPECT_TRUE(a.detach().equal(b.detach()));
}

TEST(AdamWTest, RestoreNamesAMissingEntry) {
  at::Tensor weight = golden_start();
  AdamW optimiser{golden_config(), {{"policy", {{"w", weight}}}}};
  const auto restored = optimiser.restore({});
  ASSERT_FALSE(restored);
  EXPECT_NE(restored.error().message.find("policy/w.exp_avg"), std::string::npos);
}

TEST(AdamWTest, WarmupRisesLinearly) {
  EXPECT_DOUBLE_EQ(warmup_share(0, 4), 0.25);
  EXPECT_DOUBLE_EQ(warmup_share(3, 4), 1.0);
  EXPECT_DOUBLE_EQ(warmup_share(9, 4), 1.0);
  EXPECT_DOUBLE_EQ(warmup_share(0, 0), 1.0);
}

}  // namespace
}  // namespace warpsmith::policy
