// SPDX-License-Identifier: Apache-2.0
// Layers that are computed again in the backward pass, and models that compute with a narrower copy
// of their weights.
#include <gtest/gtest.h>

#include "policy/model/transformer.hpp"
#include "tests/support/small_models.hpp"

namespace warpsmith::policy {
namespace {

using test::max_difference;
using test::random_tokens;

/// A loss that depends on the hidden states and on the output head.
at::Tensor loss_of(const Transformer& model) {
  const std::vector<std::vector<int32_t>> batch{random_tokens(9, 1), random_tokens(14, 2)};
  const PackedBatch packed = pack_sequences(batch);
  const TokenLogProbs scores = token_log_probs(model.forward(packed), model.head(), packed.tokens,
                                               {.chunk_elements = int64_t{61} * 5});
  return (scores.log_probs * scores.log_probs.detach().sin()).sum() + scores.entropy.sum();
}

class RecomputeTest : public testing::TestWithParam<Family> {
 protected:
  /// The same model, with the loss's gradients.
  static Transformer trained(const ComputeOptions& compute, at::ScalarType dtype) {
    const Transformer plain = test::small_model(GetParam(), dtype);
    Transformer model{plain.config(), plain.weights().clone(), compute};
    model.weights().require_grad();
    loss_of(model).backward();
    return model;
  }
};

TEST_P(RecomputeTest, GradientsEqualThoseOfKeptActivations) {
  const Transformer kept = trained({}, at::kDouble);
  const Transformer again = trained({.recompute = true}, at::kDouble);
  EXPECT_LT(max_difference(loss_of(kept).detach(), loss_of(again).detach()), 1e-11);
  const auto expected = kept.weights().parameters();
  const auto got = again.weights().parameters();
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(got[i].second.grad().defined()) << expected[i].first;
    const double size = expected[i].second.grad().abs().max().item<double>();
    EXPECT_LT(max_difference(expected[i].second.grad(), got[i].second.grad()), 1e-11 * (1 + size))
        << expected[i].first;
  }
}

// bf16 keeps 8 bits, so that a gradient, a sum of many rounded terms, is right to a few percent.
TEST_P(RecomputeTest, NarrowCopyGivesWideGradientsCloseToThoseOfTheWideModel) {
  const Transformer wide = trained({}, at::kFloat);
  const Transformer narrow = trained({.type = at::kBFloat16}, at::kFloat);
  const auto expected = wide.weights().parameters();
  const auto got = narrow.weights().parameters();
  for (size_t i = 0; i < expected.size(); ++i) {
    const at::Tensor& gradient = got[i].second.grad();
    ASSERT_TRUE(gradient.defined()) << expected[i].first;
    EXPECT_EQ(gradient.scalar_type(), at::kFloat) << expected[i].first;
    const double size = expected[i].second.grad().norm().item<double>();
    EXPECT_LT((expected[i].second.grad() - gradient).norm().item<double>(), 0.1 * size)
        << expected[i].first;
  }
}

TEST_P(RecomputeTest, InputsInHostMemoryGiveTheSameGradients) {
  for (const auto type : {std::optional<at::ScalarType>{}, std::optional{at::kBFloat16}}) {
    const Transformer kept = trained({.type = type, .recompute = true}, at::kFloat);
    const Transformer stashed =
        trained({.type = type, .recompute = true, .stash = true}, at::kFloat);
    const auto expected = kept.weights().parameters();
    const auto got = stashed.weights().parameters();
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(max_difference(expected[i].second.grad(), got[i].second.grad()), 0.0)
          << expected[i].first;
    }
  }
}

TEST_P(RecomputeTest, RefreshBringsTheCopyUpToDate) {
  const Transformer plain = test::small_model(GetParam());
  Transformer model{plain.config(), plain.weights().clone(), {.type = at::kBFloat16}};
  model.weights().embed.mul_(2);
  EXPECT_GT(max_difference(model.computed().embed, model.weights().embed), 0.1);
  model.refresh();
  EXPECT_EQ(max_difference(model.computed().embed, model.weights().embed.to(at::kBFloat16)), 0.0);
}

INSTANTIATE_TEST_SUITE_P(Families, RecomputeTest,
                         testing::Values(Family::llama, Family::qwen2, Family::qwen3),
                         [](const auto& family) { return std::string(to_string(family.param)); });

}  // namespace
}  // namespace warpsmith::policy
