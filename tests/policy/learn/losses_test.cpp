// SPDX-License-Identifier: Apache-2.0
// Losses against a float64 script: values, and gradients by central differences.
#include "policy/learn/losses.hpp"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/policy/learn/golden.hpp"

namespace warpsmith::policy {
namespace {

constexpr double value_tolerance = 1e-12;
constexpr double gradient_tolerance = 1e-7;  // of a central difference with h = 1e-6

LossConfig config_of(const nlohmann::json& g) {
  const auto& c = g["config"];
  return {.kind = static_cast<LossKind>(g["kind"].get<int>()),
          .clip_low = c["clip_low"],
          .clip_high = c["clip_high"],
          .dual_clip = c["dual_clip"],
          .weight_cap = c["weight_cap"],
          .mask_beyond_cap = c["mask_beyond_cap"],
          .mask_low = c["band_low"],
          .mask_high = c["band_high"],
          .shift = c["shift"],
          .sequence_low = c["sequence_low"],
          .sequence_high = c["sequence_high"],
          .kl = c["kl"],
          .entropy = c["entropy"],
          .positive_nll = c["positive_nll"]};
}

PolicyTokens golden_tokens(at::Device device = at::kCPU) {
  const auto& t = golden()["tokens"];
  const auto tensor_of = [&](const nlohmann::json& array) {
    return policy::tensor_of(array, device);
  };
  return {.log_prob = tensor_of(t["log_prob"]).requires_grad_(),
          .entropy = tensor_of(t["entropy"]).requires_grad_(),
          .behaviour = tensor_of(t["behaviour"]),
          .proximal = tensor_of(t["proximal"]),
          .advantage = tensor_of(t["advantage"]),
          .trainable = tensor_of(t["trainable"]),
          .positive = tensor_of(t["positive"]),
          .reference = tensor_of(t["reference"]),
          .trajectory = tensor_of(t["trajectory"]).to(at::kLong)};
}

void expect_near(const at::Tensor& got, const nlohmann::json& wanted, double tolerance) {
  ASSERT_EQ(got.numel(), static_cast<int64_t>(wanted.size()));
  for (int64_t i = 0; i < got.numel(); ++i) {
    const double w = wanted[static_cast<size_t>(i)];
    EXPECT_NEAR(got[i].item<double>(), w, tolerance * std::max(1.0, std::abs(w))) << "token " << i;
  }
}

/// On a CPU, and on a GPU if there is one.
class GoldenLossesTest : public testing::TestWithParam<at::DeviceType> {
 protected:
  void SetUp() override {
    if (GetParam() == at::kCUDA && !at::hasCUDA()) GTEST_SKIP() << "LibTorch finds no GPU";
  }
};

TEST_P(GoldenLossesTest, EveryPolicyLossMatchesNumpyReference) {
  for (const auto& g : golden()["losses"]) {
    SCOPED_TRACE(g["config"].dump() + " kind " + g["kind"].dump());
    const PolicyTokens tokens = golden_tokens(GetParam());
    const PolicyLoss loss = policy_loss(config_of(g), tokens);
    loss.per_token.sum().backward();
    expect_near(loss.per_token, g["loss"], value_tolerance);
    expect_near(tokens.log_prob.grad(), g["grad"], gradient_tolerance);
    if (config_of(g).entropy != 0) {
      expect_near(tokens.entropy.grad(), g["grad_entropy"], gradient_tolerance);
    }
  }
}

TEST_P(GoldenLossesTest, ValueLossMatchesNumpyReference) {
  for (const auto& g : golden()["values"]) {
    const at::Tensor value = tensor_of(g["value"], GetParam()).requires_grad_();
    const at::Tensor loss = value_loss(value, tensor_of(g["target"], GetParam()),
                                       tensor_of(g["first"], GetParam()), g["clip"]);
    loss.sum().backward();
    expect_near(loss, g["loss"], value_tolerance);
    expect_near(value.grad(), g["grad"], gradient_tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, GoldenLossesTest, testing::Values(at::kCPU, at::kCUDA),
                         [](const auto& d) { return at::DeviceTypeName(d.param, true); });

TEST(LossesTest, StaleTokenHasNoGradientAtAnyRatio) {
  PolicyTokens tokens = golden_tokens();
  tokens.behaviour = tokens.behaviour.sub(800.0);  // e^800 overflows
  tokens.trainable.zero_();
  for (int kind = 0; kind < 6; ++kind) {
    tokens.log_prob.mutable_grad() = at::Tensor();
    const PolicyLoss loss =
        policy_loss({.kind = static_cast<LossKind>(kind), .sequence_high = 2}, tokens);
    loss.per_token.sum().backward();
    EXPECT_EQ(tokens.log_prob.grad().abs().max().item<double>(), 0.0);
    EXPECT_FALSE(loss.clipped.any().item<bool>());
  }
}

TEST(LossesTest, SequenceFilterDropsWholeTrajectories) {
  PolicyTokens tokens = golden_tokens();
  const PolicyLoss loss = policy_loss({.sequence_low = 10, .sequence_high = 11}, tokens);
  EXPECT_TRUE(loss.filtered.eq(tokens.trainable.gt(0)).all().item<bool>());
  EXPECT_EQ(loss.per_token.abs().sum().item<double>(), 0.0);
}

TEST(LossesTest, KlIsZeroAtEqualityAndPositiveElsewhere) {
  const at::Tensor p = at::tensor({-1.0, -2.0, -0.5}, at::kDouble);
  const at::Tensor q = at::tensor({-1.0, -1.5, -3.0}, at::kDouble);
  const at::Tensor d = kl_loss({}, {.log_prob = p, .behaviour = p, .reference = q});
  EXPECT_EQ(d[0].item<double>(), 0.0);
  EXPECT_GT(d[1].item<double>(), 0.0);
  EXPECT_GT(d[2].item<double>(), 0.0);
}

/// Log-probabilities over a vocabulary of five.
at::Tensor small_policy(const std::vector<double>& logits) {
  return at::log_softmax(at::tensor(logits, at::kDouble), 0);
}

/// The gradient in π's logits of the loss's mean over tokens that `behaviour` samples.
at::Tensor mean_kl_gradient(const std::vector<double>& logits, const at::Tensor& behaviour,
                            const at::Tensor& reference) {
  const at::Tensor leaf = at::tensor(logits, at::kDouble).requires_grad_();
  const at::Tensor log_prob = at::log_softmax(leaf, 0);
  const at::Tensor zeros = at::zeros_like(behaviour);
  const PolicyLoss loss = policy_loss({.kind = LossKind::tis, .weight_cap = 100, .kl = 1},
                                      {.log_prob = log_prob,
                                       .entropy = zeros,
                                       .behaviour = behaviour,
                                       .proximal = behaviour,
                                       .advantage = zeros,
                                       .trainable = at::ones_like(zeros),
                                       .positive = zeros,
                                       .reference = reference,
                                       .trajectory = at::zeros({5}, at::kLong)});
  (behaviour.exp() * loss.per_token).sum().backward();
  return leaf.grad();
}

TEST(LossesTest, KlHasTheGradientOfTheExactKlOnAndOffPolicy) {
  const std::vector<double> logits{0.3, -1.2, 2.0, 0.0, -0.4};
  const at::Tensor reference = small_policy({1.1, 0.2, -0.5, 0.7, -2.0});
  const at::Tensor leaf = at::tensor(logits, at::kDouble).requires_grad_();
  const at::Tensor log_prob = at::log_softmax(leaf, 0);
  (log_prob.exp() * (log_prob - reference)).sum().backward();
  for (const at::Tensor& behaviour :
       {log_prob.detach(), small_policy({-0.6, 0.4, 0.9, 1.5, 0.0})}) {
    const at::Tensor got = mean_kl_gradient(logits, behaviour, reference);
    EXPECT_LT((got - leaf.grad()).abs().max().item<double>(), 1e-14);
  }
}

TEST(LossesTest, OverlongPenaltyIsSoftThenFull) {
  const OverlongConfig soft{.limit = 1000, .margin = 200};
  EXPECT_EQ(overlong_penalty(800, soft), 0.0);
  EXPECT_DOUBLE_EQ(overlong_penalty(900, soft), -0.5);
  EXPECT_EQ(overlong_penalty(1000, soft), -1.0);
  EXPECT_EQ(overlong_penalty(5000, soft), -1.0);
  EXPECT_EQ(overlong_penalty(5000, {.limit = 0, .margin = 200}), 0.0);
}

}  // namespace
}  // namespace warpsmith::policy
